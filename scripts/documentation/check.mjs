// Holds the built site against what is promised of it, in headless Chromium:
//   node check.mjs FOLDER     FOLDER/html is the site, FOLDER/names.json what is searched for
// Prints a line for each promise; the exit code is 1 where one is not kept.
import { createServer } from "node:http";
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import path from "node:path";

const folder = path.resolve(process.argv[2]);
const html = path.join(folder, "html");
const require = createRequire(path.join(folder, "package.json"));
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf-8");
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = browsers.find((file) => file && existsSync(file));
if (!executablePath) {
  console.error("No Chromium was found. Install it (Debian: apt install chromium), or set CHROMIUM=/path/to/it.");
  process.exit(1);
}
const ACCESSIBLE = 20; // pages that axe looks at
const PATIENCE = 300000; // milliseconds that a page may take: a busy machine is no fault of the site
const TYPES = {
  ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json",
  ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2", ".xml": "text/xml", ".map": "application/json",
};

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://127.0.0.1");
  const file = path.join(html, decodeURIComponent(pathname), pathname.endsWith("/") ? "index.html" : "");
  try {
    const body = await readFile(file);
    response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const origin = `http://127.0.0.1:${server.address().port}`;

const files = (await readdir(html, { recursive: true })).filter((name) => name.endsWith("index.html")).sort();
const pages = files.map((name) => "/" + name.slice(0, -"index.html".length));
const { ops, names } = JSON.parse(await readFile(path.join(folder, "names.json"), "utf-8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
page.setDefaultTimeout(PATIENCE);

const foreign = new Set(), errors = [], links = new Map(), anchors = new Map();
page.on("request", (request) => {
  if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) foreign.add(request.url());
});
page.on("console", (message) => message.type() === "error" && errors.push(`${page.url()}: ${message.text()}`));
page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.message}`));

let faults = 0;
function tell(promise, found) {
  console.log(`${String(found.length).padStart(5)}  ${promise}`);
  for (const fault of found.slice(0, 12)) console.log(`         ${fault}`);
  faults += found.length;
}

const wrong = [];
await page.goto(origin + "/", { waitUntil: "load" });
for (const [query, op] of [...ops.map((name) => [name, name]), ...Object.entries(names)]) {
  const first = await firstResult(query);
  if (first !== `/ops/${op}/`) wrong.push(`${query}: ${first}, expected ${op}`);
}

async function type(query) {
  await page.fill("input.md-search__input", query);
  await page.dispatchEvent("input.md-search__input", "keyup"); // for which the search waits
}

async function firstResult(query) {
  await type("");
  await page.waitForFunction(() => !document.querySelector(".md-search-result__item"));
  await type(query);
  const link = await page.waitForSelector(".md-search-result__item a").catch(() => null);
  return link && new URL(await link.evaluate((element) => element.href)).pathname;
}

tell(`wrong first results of a search, of ${ops.length} ops and ${Object.keys(names).length} other names`, wrong);

const serious = [];
const step = Math.floor(pages.length / ACCESSIBLE);
const looked = [...Array(ACCESSIBLE).keys()].map((k) => pages[k * step]);
for (const each of looked) {
  await page.goto(origin + each, { waitUntil: "load" });
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const violation of found.violations.filter(({ impact }) => ["serious", "critical"].includes(impact))) {
    serious.push(`${each}: ${violation.id}: ${violation.nodes[0].html.slice(0, 120)}: ${violation.nodes[0].any[0]?.message ?? ""}`);
  }
}
tell(`serious findings of axe-core, of ${looked.length} pages`, serious);

for (const each of pages) {
  await page.goto(origin + each, { waitUntil: "load" });
  const found = await page.evaluate(() => ({
    ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
    links: [...document.querySelectorAll("a[href]")].map((element) => element.href),
  }));
  anchors.set(each, new Set(found.ids));
  links.set(each, found.links);
}
const dead = new Set();
for (const [from, targets] of links) {
  for (const target of targets.map((text) => new URL(text))) {
    if (target.origin !== origin) continue;
    const to = target.pathname.replace(/index\.html$/, "");
    const id = decodeURIComponent(target.hash.slice(1));
    if (!anchors.has(to) && !existsSync(path.join(html, to))) dead.add(`${from} -> ${to}`);
    else if (id && !id.startsWith("__") && anchors.has(to) && !anchors.get(to).has(id)) dead.add(`${from} -> ${to}#${id}`);
  }
}
tell(`requests to other hosts, of ${pages.length} pages`, [...foreign]);
tell("errors on the console", errors);
tell("dead internal links", [...dead]);

await browser.close();
server.close();
process.exit(faults ? 1 : 0);
