// Rules and subscriptions, a page at a time, with search.

import { answer } from "./service.js";
import { byId, element, later } from "./elements.js";
import { givenEvent, setRule } from "./editor.js";
import { showExplanation } from "./explanation.js";

const SIZE = 10;
const KINDS = {
  rules: { columns: ["Id", "Rule", "Tags", "Priority", ""], row: ruleRow },
  subscriptions: { columns: ["Id", "Rule", "Subscriber", "Until", ""], row: subscriptionRow },
};

let kind = "rules";
let pages = [""]; // `after` of each page that led here
let asked = 0;

export function startLists() {
  const tabs = Object.keys(KINDS).map((name) => byId(`tab-${name}`));
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => choose(tab.id.slice(4)));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      const other = tabs[(place + 1) % tabs.length];
      other.focus();
      other.click();
    });
  });
  byId("search").addEventListener("input", later(250, first));
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
  const mine = ++asked;
  const { columns, row } = KINDS[kind];
  const search = byId("search").value;
  try {
    const params = { after: pages.at(-1), limit: SIZE, search };
    const page = await answer("GET", kind, { params });
    if (mine !== asked) return;
    byId("list-head").replaceChildren(
      element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))));
    byId("list-body").replaceChildren(...page[kind].map(row));
    const shown = page[kind].length ? `page ${pages.length}` : "nothing found";
    byId("list-count").textContent = `${page.count.toLocaleString()} in all, ${shown}`;
    byId("previous").disabled = pages.length === 1;
    byId("next").disabled = page.next === null;
    byId("next").dataset.after = page.next ?? "";
  } catch (error) {
    if (mine !== asked) return;
    byId("list-head").replaceChildren();
    byId("list-body").replaceChildren();
    byId("list-count").textContent = error.message;
    byId("previous").disabled = byId("next").disabled = true;
  }
}

function ruleRow({ id, rule, tags, priority }) {
  return tableRow(id, rule, tags.join(", "), String(priority), `Rule ${id}`);
}

function subscriptionRow({ id, rule, subscriber, expires }) {
  return tableRow(id, rule, subscriber, new Date(expires).toLocaleString(), `Subscription ${id}`);
}

function tableRow(id, rule, third, fourth, title) {
  const why = () => {
    const event = givenEvent();
    if (event !== null) showExplanation(title, rule, event);
    else byId("event").focus();
  };
  return element(
    "tr",
    {},
    element("td", {}, id),
    element("td", {}, element("code", {}, rule)),
    element("td", {}, third),
    element("td", {}, fourth),
    element(
      "td",
      {},
      element("button", { class: "plain", "aria-label": `Edit the rule of ${id}`, onclick: () => setRule(rule) }, "Edit"),
      " ",
      element("button", { class: "plain", "aria-label": `Why ${id} matches the event or not`, onclick: why }, "Why?"),
    ),
  );
}
