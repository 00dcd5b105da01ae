// The site's search takes a colon for the end of a field's name and a leading minus for "without", and does not divide a
// query as it divides pages: "xtune::load", "--effort" and "Result.best" would find nothing.
document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-md-component=search-query]"))
    target.value = target.value.replace(/[:^~*+.,()[\]/=]|(^|\s)-+/g, " ");
}, true);
