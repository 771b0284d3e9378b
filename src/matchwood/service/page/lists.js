// Lists of rules and subscriptions, one page at a time, with search.

import { answer } from "./service.js";
import { byId, element, debounced } from "./elements.js";
import { currentEvent, setRule } from "./editor.js";
import { showExplanation } from "./explanation.js";

const SIZE = 10; // rows per page
// By tab: the path of the list, the field of the answer with its items, its columns, and a row.
const KINDS = {
  rules: {
    path: "rules",
    items: "rules",
    columns: ["Id", "Rule", "Tags", "Priority", ""],
    row: ruleRow,
    exact: true, // they carry data
  },
  subscriptions: {
    path: "subscriptions",
    items: "subscriptions",
    columns: ["Id", "Rule", "Subscriber", "Expires", ""],
    row: subscriptionRow,
  },
  webhooks: {
    path: "subscriptions",
    items: "subscriptions",
    columns: ["Id", "URL", "Rule", "Subscriber", ""],
    row: webhookRow,
    params: { kind: "webhook" },
    uncounted: true, // `count` is that of all subscriptions
  },
  deliveries: {
    path: "deliveries",
    items: "deliveries",
    columns: ["Webhook of", "Last error", "Attempts", "Waiting", ""],
    row: deliveryRow,
    whole: true, // it has neither pages nor a search
  },
  "dead-letters": {
    path: "dead-letters",
    items: "dead_letters",
    columns: ["Webhook of", "Event", "Error", "Attempts", ""],
    row: letterRow,
    first: 0,
    unsearched: true,
    exact: true, // it has events
  },
  "value-lists": {
    path: "lists",
    items: "lists",
    columns: ["Name", "Values", "Version", "Set", ""],
    row: listRow,
  },
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
      const step = event.key === "ArrowRight" ? 1 : tabs.length - 1;
      const other = tabs[(index + step) % tabs.length];
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
  pages = [KINDS[kind].first ?? ""];
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
  const { path, items, columns, row, whole, unsearched, exact, uncounted, params: fixed } = KINDS[kind];
  byId("search-form").classList.toggle("unsearched", Boolean(whole || unsearched));
  try {
    const params = { limit: SIZE, ...fixed };
    if (!whole) params.after = pages.at(-1);
    if (!whole && !unsearched) params.search = byId("search").value;
    const page = await answer("GET", path, { params, exact });
    if (thisLoad !== lastLoad) return;
    byId("list-head").replaceChildren(
      element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))));
    byId("list-body").replaceChildren(...page[items].map(row));
    const shown = page[items].length ? `page ${pages.length}` : "no results";
    const total = page.count === undefined || uncounted ? "" : `${page.count.toLocaleString()} in total, `;
    byId("list-count").textContent = total + shown;
    byId("previous").disabled = pages.length === 1;
    byId("next").disabled = (page.next ?? null) === null;
    byId("next").dataset.after = page.next ?? "";
  } catch (error) {
    if (thisLoad !== lastLoad) return;
    byId("list-head").replaceChildren();
    byId("list-body").replaceChildren();
    byId("list-count").textContent = error.message;
    byId("previous").disabled = byId("next").disabled = true;
  }
}

function ruleRow({ id, rule, tags, priority: given, data, suspended }) {
  const priority = Number(given?.rawJSON ?? given); // a floating-point number, which loses nothing
  const edit = () => setRule(rule, { id, tags, priority, data });
  const remove = () => confirmed(`Delete the rule ${id}?`, "DELETE", "rule", { params: { id } });
  const gone = button("Delete", `Delete the rule ${id}`, remove);
  return tableRow(id, rule, tags.join(", "), String(priority), `Rule ${id}`, edit, suspended, gone);
}

function listRow({ name, size, version, at }) {
  const path = `lists/${encodeURIComponent(name)}`;
  const remove = () => confirmed(`Delete the list ${name}?`, "DELETE", path);
  return row(
    [name, size.toLocaleString(), String(version), new Date(at).toLocaleString()],
    button("Delete", `Delete the list ${name}`, remove),
  );
}

function subscriptionRow({ id, rule, subscriber, expires, suspended }) {
  const until = new Date(expires).toLocaleString();
  return tableRow(
    id, rule, subscriber, until, `Subscription ${id}`, () => setRule(rule), suspended,
    stateButton(id), cancelButton(id, subscriber));
}

function webhookRow({ id, rule, subscriber, delivery }) {
  return row(
    [id, element("code", {}, delivery.url), element("code", {}, rule), subscriber],
    stateButton(id),
    cancelButton(id, subscriber),
  );
}

const pathOf = (id) => `subscriptions/${encodeURIComponent(id)}`;

const stateButton = (id) => button("State", `State of ${id}`, () => showState(id));

const cancelButton = (id, subscriber) =>
  button("Cancel", `Cancel the subscription ${id}`, () =>
    confirmed(`Cancel the subscription ${id} of ${subscriber}? What it has not received is lost.`, "DELETE", pathOf(id)));

// What waits for a subscription, since when and why, field by field.
async function showState(id) {
  let body;
  try {
    const state = await answer("GET", `${pathOf(id)}/delivery`);
    body = Object.entries(state).map(([name, value]) =>
      element("li", {}, `${name.replaceAll("_", " ")}: `, element("code", {}, value === null ? "none" : String(value))));
  } catch (error) {
    body = [element("li", { class: "false" }, error.message)];
  }
  byId("dialog-title").textContent = `Delivery to ${id}`;
  byId("dialog-body").replaceChildren(element("ul", {}, ...body));
  byId("dialog").showModal();
}

function deliveryRow(state) {
  const { subscription: id, last_error, attempts, waiting, waiting_since, next_event, retry_at } = state;
  const path = `${pathOf(id)}/delivery`;
  const since = waiting_since ? ` since ${new Date(waiting_since).toLocaleString()}` : "";
  return row(
    [id, last_error ?? "", `${attempts}, again ${new Date(retry_at).toLocaleTimeString()}`, `${waiting}${since}`],
    button("Retry", `Retry ${id} now`, () => change(`${path}/retry`)),
    button("Skip", `Skip event ${next_event} of ${id}`, () => change(`${path}/skip`, { event: next_event })),
  );
}

function letterRow({ id, subscription, event, error, attempts, replay }) {
  const path = `subscriptions/${encodeURIComponent(subscription)}/dead-letters/replay`;
  const body = JSON.stringify(event.event).slice(0, 300);
  return row(
    [subscription, element("code", {}, `${event.id}: ${body}`), error, `${attempts}${replay ? ", being sent" : ""}`],
    button("Send again", `Send letter ${id} again`, () => change(path, { ids: [id] })),
  );
}

// Asks the service to change something, then shows the list again.
const change = (path, body) => send("POST", path, { body });

const confirmed = (question, method, path, options) => window.confirm(question) && send(method, path, options);

async function send(method, path, options) {
  try {
    await answer(method, path, options);
    await load();
  } catch (error) {
    byId("list-count").textContent = error.message;
  }
}

const button = (text, label, onclick) => element("button", { class: "plain", "aria-label": label, onclick }, text);

const row = (cells, ...buttons) =>
  element(
    "tr",
    {},
    ...cells.map((cell) => element("td", {}, cell)),
    element("td", {}, ...buttons.flatMap((one) => [one, " "])),
  );

function tableRow(id, rule, third, fourth, title, edit, suspended, ...more) {
  const why = () => {
    const event = currentEvent();
    if (event !== null) showExplanation(title, rule, event);
    else byId("event").focus();
  };
  const text = element("td", {}, element("code", {}, rule));
  if (suspended) text.append(element("div", { class: "suspended false" }, `Suspended: ${suspended}`));
  const buttons = [button("Edit", `Edit the rule of ${id}`, edit), button("Why?", `Explain ${id} for the event`, why), ...more];
  return element(
    "tr",
    {},
    element("td", {}, id),
    text,
    element("td", {}, third),
    element("td", {}, fourth),
    element("td", {}, ...buttons.flatMap((one) => [one, " "])),
  );
}
