// Formulas, which the pages hold as LaTeX: \( ... \) in lines, \[ ... \] as blocks.
for (const element of document.querySelectorAll(".arithmatex")) {
  const latex = element.textContent.trim();
  katex.render(latex.slice(2, -2), element, { displayMode: latex.startsWith("\\["), throwOnError: true });
}
// What scrolls is reached by the keyboard, too.
for (const element of document.querySelectorAll(".katex-display, .md-typeset pre > code, .md-typeset__scrollwrap")) {
  element.tabIndex = 0;
}
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
