// The subscriptions of this page, and their matches as they arrive.

import { answer, Refused, watch } from "./service.js";
import { byId, element } from "./elements.js";
import { drawn, explained } from "./explanation.js";

const KEPT = 200; // the most matches on the page
const watched = new Map(); // id → { subscription, last, state, streamed, control }
const held = []; // matches that arrived while the list was paused
let paused = false;

// Tickets stay in this tab: whoever has one can read, change and cancel the subscription.
const remember = () => {
  const all = [...watched.values()].map(({ subscription }) => subscription);
  sessionStorage.setItem("subscriptions", JSON.stringify(all));
};

export function startLive() {
  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    byId("pause").textContent = paused ? "Resume" : "Pause";
    if (!paused) held.splice(0).forEach(([subscription, match]) => show(subscription, match));
    tell();
  });
  byId("clear").addEventListener("click", () => {
    byId("matches").replaceChildren();
    held.length = 0;
    tell();
  });
  JSON.parse(sessionStorage.getItem("subscriptions") || "[]").forEach(follow);
}

// A browser opens at most six connections to a host, over all tabs. Therefore only the newest
// subscription has a stream; the others are polled.
export function follow(subscription) {
  if (watched.has(subscription.id)) return;
  const entry = { subscription, last: null, state: "waiting", streamed: false, control: null };
  watched.set(subscription.id, entry);
  remember();
  share();
  list();
}

function share() {
  const newest = [...watched.keys()].at(-1);
  for (const [id, entry] of watched) {
    if (entry.control && entry.streamed === (id === newest)) continue;
    entry.control?.abort();
    entry.streamed = id === newest;
    begin(entry);
  }
}

function begin(entry) {
  const { subscription } = entry;
  const control = (entry.control = new AbortController());
  watch(subscription, {
    streamed: entry.streamed,
    last: entry.last,
    signal: control.signal,
    onMatch: (match) => {
      if (entry.last !== null && match.id <= entry.last) return;
      entry.last = match.id;
      if (paused) held.push([subscription, match]);
      else show(subscription, match);
      held.splice(0, held.length - KEPT);
      tell();
    },
    onState: (state) => {
      if (control.signal.aborted) return;
      entry.state = state;
      if (state === "gone") forget(subscription.id);
      tell();
    },
  });
}

function forget(id) {
  watched.get(id)?.control.abort();
  watched.delete(id);
  remember();
  share();
  list();
}

async function cancel({ id, ticket }) {
  forget(id);
  try {
    await answer("DELETE", `subscriptions/${encodeURIComponent(id)}`, { secret: ticket });
  } catch (error) {
    if (!(error instanceof Refused)) throw error; // else it has expired already
  }
}

function list() {
  const chips = [...watched.values()].map(({ subscription }) =>
    element(
      "li",
      { title: `${subscription.rule}\nexpires ${subscription.expires}` },
      `${subscription.id} `,
      element("code", {}, subscription.rule),
      element(
        "button",
        { class: "plain", "aria-label": `Cancel ${subscription.id}`, onclick: () => cancel(subscription) },
        "Cancel",
      ),
    ));
  byId("watched").replaceChildren(...chips);
  tell();
}

function tell() {
  const count = byId("matches").children.length;
  const states = [...watched.values()].map(({ state }) => state);
  const trouble = states.filter((state) => state !== "open").length;
  byId("pause").hidden = byId("clear").hidden = !watched.size && !count;
  let text = "Subscribe to a rule to see its matches here.";
  if (watched.size) text = count ? `${count} shown` : "Waiting for a matching event.";
  if (trouble) text += ` (${trouble} of ${watched.size} not connected)`;
  if (held.length) text += ` (${held.length} more while paused)`;
  byId("live-status").textContent = text;
}

function show(subscription, match) {
  const why = element("div", {}, "…");
  const details = element(
    "details",
    {},
    element(
      "summary",
      {},
      element("time", { datetime: match.published }, new Date(match.published).toLocaleTimeString()),
      element("span", { class: "from" }, `${subscription.id} ← event ${match.id}`),
      element("code", {}, JSON.stringify(match.event).slice(0, 300)),
    ),
    element("pre", { tabindex: "0", "aria-label": "Event" }, JSON.stringify(match.event, null, 2)),
    element("pre", { tabindex: "0", "aria-label": "Rule" }, subscription.rule),
    why,
  );
  details.addEventListener("toggle", async () => {
    if (!details.open || why.dataset.asked) return;
    why.dataset.asked = "yes";
    try {
      why.replaceChildren(drawn(await explained(subscription.rule, match.event)));
    } catch (error) {
      why.textContent = error.message;
    }
  });
  const matches = byId("matches");
  matches.prepend(element("li", {}, details));
  while (matches.children.length > KEPT) matches.lastElementChild.remove();
}
