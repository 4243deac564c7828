"""A hook of mkdocs: the generated reference page of each op in the navigation, in families."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "documentation"))
from families import navigation


def on_config(config: Any) -> Any:
    """The navigation with a section of all pages in `ops/`."""
    config["nav"].append({"The ops": navigation(Path(config["docs_dir"], "ops").glob("*.md"))})
    return config
