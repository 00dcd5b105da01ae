// The site's search: the theme's worker, with another order of results. The theme counts a word of a title as a thousand
// words of a text, and a page that has one word of the query as much as a page that has all, so that a message that a
// reader pastes finds any page with one of its words in its title. Here a title counts three times, and a result by the
// cube of the share of the query's words that it has.

// Without the place that a message begins with, and without signs that mean something in a query of lunr: "xtune::load",
// "--effort", "'x' is missing".
const plain = (query) =>
  query
    .replace(/^\s*xtune: |\S+:\d+:(\d+:)? /g, " ")
    .replace(/[:^~*+.,()[\]/='"`…]/g, " ")
    .replace(/(^|\s)-+/g, " ");

// A page is listed with the text of all its sections, which follow it: only what is before the second heading is its own.
const firstSection = (docs) =>
  docs.map((doc, i) => (doc.location.includes("#") ? doc : { ...doc, text: (docs[i + 1] ?? doc).text }));

addEventListener("message", ({ data }) => {
  if (typeof data.data === "string") data.data = plain(data.data);
  else if (data.data?.docs) data.data.docs = firstSection(data.data.docs);
});
importScripts(decodeURIComponent(location.search.slice(1)));

const { field } = lunr.Builder.prototype;
lunr.Builder.prototype.field = function (name, attributes) {
  this.b(0.4); // long sections are not much worse
  field.call(this, name, name === "title" ? { ...attributes, boost: 3 } : attributes);
};

lunr.stopWordFilter = (word) => word; // no word is left out: `xtune why`, and "not" in messages
lunr.Pipeline.registerFunction(lunr.stopWordFilter, "everyWord");

const { search } = lunr.Index.prototype;
lunr.Index.prototype.search = function (query) {
  const words = query.toLowerCase().split(/[\s*]+/).filter(Boolean);
  return search.call(this, query).map((result) => {
    const found = Object.keys(result.matchData.metadata);
    const share = words.filter((word) => found.some((each) => each.startsWith(word))).length / words.length;
    const page = result.ref.includes("#") ? 1 : 2; // which the theme counts twice
    return Object.assign(result, { score: (result.score * share ** 3) / page });
  });
};
