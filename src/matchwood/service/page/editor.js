// The rule and the event: checked as they are typed, then subscribed to, saved, published.

import { answer } from "./service.js";
import { byId, element, later, say } from "./elements.js";
import { showExplanation } from "./explanation.js";

let asked = 0;

export const ruleText = () => byId("rule").value;

export function setRule(text) {
  byId("rule").value = text;
  byId("rule").dispatchEvent(new Event("input"));
  byId("rule").focus();
}

// The event as an object, or null where it is none yet, which the page says.
export function givenEvent() {
  try {
    const event = JSON.parse(byId("event").value);
    if (event === null || typeof event !== "object" || Array.isArray(event)) {
      throw new Error("an event is a JSON object, as in {\"age\": 20}");
    }
    say(byId("event-verdict"), "", "");
    return event;
  } catch (error) {
    say(byId("event-verdict"), "bad", error.message);
    return null;
  }
}

async function check() {
  const rule = ruleText();
  const place = byId("rule-verdict");
  const mine = ++asked;
  if (!rule.trim()) {
    say(place, "", "");
    return;
  }
  try {
    const found = await answer("POST", "check", { body: { rule } });
    if (mine !== asked) return; // a later text has been sent meanwhile
    byId("rule").setAttribute("aria-invalid", String(!found.valid));
    if (found.valid) {
      const about = found.attributes.length ? `asks for ${found.attributes.join(", ")}` : "asks for nothing";
      say(place, "good", `✓ ${about}`, ...warnings(found));
    } else {
      const { reason, line, column, caret } = found.error;
      const at = column ? `${line > 1 ? `line ${line}, ` : ""}column ${column}: ` : "";
      say(place, "bad", `✗ ${at}${reason}`, ...(caret ? [element("pre", {}, caret)] : []));
    }
  } catch (error) {
    if (mine === asked) say(place, "bad", error.message);
  }
}

const warnings = (found) => (found.warnings || []).map((text) => element("div", { class: "undefined" }, text));

async function doing(button, place, work) {
  button.disabled = true;
  try {
    say(place, "", ...[].concat(await work()));
  } catch (error) {
    say(place, "false", error.message);
  } finally {
    button.disabled = false;
  }
}

export function startEditor({ onSubscribed, onSaved }) {
  byId("rule").addEventListener("input", later(200, check));
  byId("event").addEventListener("input", later(200, givenEvent));

  byId("subscribe-form").addEventListener("submit", (event) => {
    event.preventDefault();
    doing(byId("subscribe"), byId("rule-done"), async () => {
      const body = {
        rule: ruleText(),
        subscriber: byId("subscriber").value,
        validity: Number(byId("validity").value),
      };
      const made = await answer("POST", "subscriptions", { body });
      onSubscribed({ id: made.id, ticket: made.ticket, rule: made.rule, expires: made.expires });
      return `Subscription ${made.id} is watched below.`;
    });
  });

  byId("save-form").addEventListener("submit", (event) => {
    event.preventDefault();
    doing(byId("save"), byId("rule-done"), async () => {
      const id = byId("rule-id").value;
      const path = `rules/${encodeURIComponent(id)}`;
      const done = await answer("PUT", path, { body: { rule: ruleText() } });
      onSaved();
      return `Rule ${id} is ${done.is_new ? "new" : "changed"}.`;
    });
  });

  byId("publish").addEventListener("click", () => {
    const event = givenEvent();
    if (event === null) return;
    doing(byId("publish"), byId("event-done"), async () => {
      const { id, matched } = await answer("POST", "events", { body: event });
      return `Event ${id} is accepted: ${matched} ${matched === 1 ? "subscription matches" : "subscriptions match"}.`;
    });
  });

  byId("explain").addEventListener("click", () => {
    const event = givenEvent();
    if (event !== null) showExplanation("The rule and the event", ruleText(), event);
  });

  byId("match").addEventListener("click", () => {
    const event = givenEvent();
    if (event !== null) doing(byId("match"), byId("event-done"), () => matches(event));
  });

  for (const [field, button] of [["rule", "subscribe"], ["event", "publish"]]) {
    byId(field).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        byId(button).click();
      }
    });
  }
}

const SHOWN = 20;

async function matches(event) {
  const body = { event, why_not: 5, limit: SHOWN };
  const found = (await answer("POST", "match", { body })).results[0];
  const ids = found.matches.map(({ id }) => because(id, event, "match"));
  const near = (found.near || []).map(({ id, lacked }) =>
    element("li", {}, because(id, event, "near"), " lacks ", element("code", {}, lacked.join(", "))));
  const count = found.matches.length === SHOWN ? `${SHOWN} rules or more match` : `${ids.length} rules match`;
  return [
    element("p", {}, ids.length ? `${count}: ` : "No rule matches.", ...ids.flatMap((one) => [one, " "])),
    ...(near.length ? [element("p", {}, "Nearest to it:"), element("ul", { id: "near" }, ...near)] : []),
  ];
}

function because(id, event, kind) {
  const show = async () => {
    const { rule } = await answer("GET", `rules/${encodeURIComponent(id)}`);
    await showExplanation(`Rule ${id}`, rule, event);
  };
  return element("button", { type: "button", class: `plain ${kind}`, onclick: show }, id);
}
