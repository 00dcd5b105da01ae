// Searches the site as a browser does: its worker gets the index, then each query. Prints the pages found, best first.
// node search.js SITE < a JSON list of queries
const fs = require("fs"), path = require("path"), vm = require("vm");
const site = process.argv[2], read = (name) => fs.readFileSync(path.join(site, name), "utf8");
const config = JSON.parse(read("index.html").match(/<script id="__config" type="application\/json">(.*?)<\/script>/s)[1]);
const listeners = [], answers = [];
const worker = {
  console, URL, setTimeout, location: { search: "?" + encodeURIComponent(config.search) },
  addEventListener: (name, listener) => listeners.push(listener), postMessage: (message) => answers.push(message),
  importScripts: (name) => vm.runInContext(read(name), worker),
};
worker.self = worker;
vm.runInContext(read("search-worker.js"), vm.createContext(worker));

async function answer(message) {
  for (const listener of listeners) await listener({ data: message });
  while (!answers.length) await new Promise((done) => setTimeout(done, 1));
  return answers.pop().data;
}

(async () => {
  const index = JSON.parse(read("search/search_index.json"));
  const pipeline = (config.translations["search.config.pipeline"] || "").split(/\s*,\s*/).filter(Boolean);
  await answer({ type: 0, data: { ...index, options: { pipeline, suggestions: false } } });
  const found = {};
  for (const query of JSON.parse(fs.readFileSync(0)))
    found[query] = (await answer({ type: 2, data: query })).items.map(([first]) => first.location.split("#")[0]);
  console.log(JSON.stringify(found));
})();
