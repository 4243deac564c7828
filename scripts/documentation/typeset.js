// Formulas, which the pages hold as LaTeX: \( ... \) in lines, \[ ... \] as blocks.
for (const element of document.querySelectorAll(".arithmatex")) {
  const latex = element.textContent.trim();
  katex.render(latex.slice(2, -2), element, { displayMode: latex.startsWith("\\["), throwOnError: true });
}
