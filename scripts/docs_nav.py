"""A hook of mkdocs: the generated reference page of each op in the navigation."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """The navigation with a section of all pages in `ops/`."""
    pages = sorted(Path(config["docs_dir"], "ops").glob("*.md"))
    config["nav"].append({"The ops": [{page.stem: f"ops/{page.name}"} for page in pages]})
    return config
