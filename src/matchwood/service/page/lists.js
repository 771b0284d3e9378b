// Lists of rules and subscriptions, one page at a time, with search.

import { answer } from "./service.js";
import { byId, element, debounced } from "./elements.js";
import { currentEvent, setRule } from "./editor.js";
import { showExplanation } from "./explanation.js";

const SIZE = 10; // rows per page
const KINDS = {
  rules: { columns: ["Id", "Rule", "Tags", "Priority", ""], row: ruleRow },
  subscriptions: { columns: ["Id", "Rule", "Subscriber", "Expires", ""], row: subscriptionRow },
};

let kind = "rules";
let pages = [""]; // the `after` of each page up to the current one
let lastLoad = 0; // numbers the requests, so that late answers to earlier ones are ignored

export function startLists() {
  const tabs = Object.keys(KINDS).map((name) => byId(`tab-${name}`));
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(tab.id.slice(4)));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      const other = tabs[(index + 1) % tabs.length];
      other.focus();
      other.click();
    });
  });
  byId("search").addEventListener("input", debounced(250, first));
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    first();
  });
  byId("previous").addEventListener("click", () => {
    pages.pop();
    load();
  });
  byId("next").addEventListener("click", (event) => {
    pages.push(event.target.dataset.after);
    load();
  });
  first();
}

export function first() {
  pages = [""];
  return load();
}

function choose(name) {
  kind = name;
  for (const other of Object.keys(KINDS)) {
    const chosen = other === name;
    byId(`tab-${other}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${other}`).tabIndex = chosen ? 0 : -1;
  }
  byId("list").setAttribute("aria-labelledby", `tab-${name}`);
  first();
}

async function load() {
  const thisLoad = ++lastLoad;
  const { columns, row } = KINDS[kind];
  const search = byId("search").value;
  try {
    const params = { after: pages.at(-1), limit: SIZE, search };
    const page = await answer("GET", kind, { params });
    if (thisLoad !== lastLoad) return;
    byId("list-head").replaceChildren(
      element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))));
    byId("list-body").replaceChildren(...page[kind].map(row));
    const shown = page[kind].length ? `page ${pages.length}` : "no results";
    byId("list-count").textContent = `${page.count.toLocaleString()} in total, ${shown}`;
    byId("previous").disabled = pages.length === 1;
    byId("next").disabled = page.next === null;
    byId("next").dataset.after = page.next ?? "";
  } catch (error) {
    if (thisLoad !== lastLoad) return;
    byId("list-head").replaceChildren();
    byId("list-body").replaceChildren();
    byId("list-count").textContent = error.message;
    byId("previous").disabled = byId("next").disabled = true;
  }
}

function ruleRow({ id, rule, tags, priority, suspended }) {
  const edit = () => setRule(rule, { id, tags, priority });
  return tableRow(id, rule, tags.join(", "), String(priority), `Rule ${id}`, edit, suspended);
}

function subscriptionRow({ id, rule, subscriber, expires, suspended }) {
  return tableRow(id, rule, subscriber, new Date(expires).toLocaleString(), `Subscription ${id}`, () => setRule(rule), suspended);
}

function tableRow(id, rule, third, fourth, title, edit, suspended) {
  const why = () => {
    const event = currentEvent();
    if (event !== null) showExplanation(title, rule, event);
    else byId("event").focus();
  };
  const text = element("td", {}, element("code", {}, rule));
  if (suspended) text.append(element("div", { class: "suspended false" }, `Suspended: ${suspended}`));
  return element(
    "tr",
    {},
    element("td", {}, id),
    text,
    element("td", {}, third),
    element("td", {}, fourth),
    element(
      "td",
      {},
      element("button", { class: "plain", "aria-label": `Edit the rule of ${id}`, onclick: edit }, "Edit"),
      " ",
      element("button", { class: "plain", "aria-label": `Explain ${id} for the event`, onclick: why }, "Why?"),
    ),
  );
}
