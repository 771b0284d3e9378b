// The fields for a rule and an event: checked while typing, then subscribed to, saved, published.

import { answer, parseExactly } from "./service.js";
import { byId, debounced, element, say } from "./elements.js";
import { showExplanation } from "./explanation.js";

let lastCheck = 0; // numbers the checks, so that late answers to earlier ones are ignored

export const ruleText = () => byId("rule").value;

// The rule that is being edited: saving it under the same id keeps its tags, priority and data.
// A field cannot show every id: line breaks are left out. So what it shows is remembered, too.
let edited = null; // { id, tags, priority, data, shown }

export function setRule(text, rule = null) {
  if (rule !== null) byId("rule-id").value = rule.id;
  edited = rule && { ...rule, shown: byId("rule-id").value };
  byId("rule").value = text;
  byId("rule").dispatchEvent(new Event("input"));
  byId("rule").focus();
}

// The event as an object. If the text is not one, the page says so, and this returns null.
export function currentEvent() {
  try {
    const event = parseExactly(byId("event").value);
    if (event === null || typeof event !== "object" || Array.isArray(event)) {
      throw new Error("An event must be a JSON object, such as {\"age\": 20}");
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
  const verdict = byId("rule-verdict");
  const thisCheck = ++lastCheck;
  if (!rule.trim()) {
    say(verdict, "", "");
    return;
  }
  try {
    const found = await answer("POST", "check", { body: { rule } });
    if (thisCheck !== lastCheck) return; // a newer text is being checked
    byId("rule").setAttribute("aria-invalid", String(!found.valid));
    if (found.valid) {
      const about = found.attributes.length ? `Uses ${found.attributes.join(", ")}` : "Uses no attributes";
      say(verdict, "good", `✓ ${about}`, ...warnings(found));
    } else {
      const { reason, line, column, caret } = found.error;
      const at = column ? `${line > 1 ? `line ${line}, ` : ""}column ${column}: ` : "";
      say(verdict, "bad", `✗ ${at}${reason}`, ...(caret ? [caretBelow(caret)] : []));
    }
  } catch (error) {
    if (thisCheck === lastCheck) say(verdict, "bad", error.message);
  }
}

// A line of the rule with a caret below. What precedes the caret is repeated, unseen, so that the
// caret has its place whatever the width of the characters: tabs, wide letters, emoji.
function caretBelow(caret) {
  const [line, below] = caret.split("\n");
  const before = [...line.padEnd(below.length)].slice(0, [...below].length - 1).join("");
  return element(
    "pre", {}, `${line}\n`, element("span", { class: "unseen", "aria-hidden": "true" }, before), "^");
}

const warnings = (found) => (found.warnings || []).map((text) => element("div", { class: "undefined" }, text));

// Runs work while its button is disabled, and shows the result or the error.
async function perform(button, output, work) {
  button.disabled = true;
  try {
    say(output, "", ...[].concat(await work()));
  } catch (error) {
    say(output, "false", error.message);
  } finally {
    button.disabled = false;
  }
}

export function startEditor({ onSubscribed, onSaved }) {
  byId("rule").addEventListener("input", debounced(200, check));
  byId("event").addEventListener("input", debounced(200, currentEvent));

  byId("subscribe-form").addEventListener("submit", (event) => {
    event.preventDefault();
    perform(byId("subscribe"), byId("rule-done"), async () => {
      const body = {
        rule: ruleText(),
        subscriber: byId("subscriber").value,
        validity: Number(byId("validity").value),
      };
      const made = await answer("POST", "subscriptions", { body });
      onSubscribed({ id: made.id, ticket: made.ticket, rule: made.rule, expires: made.expires });
      return `Subscription ${made.id} created; its matches appear below.`;
    });
  });

  byId("save-form").addEventListener("submit", (event) => {
    event.preventDefault();
    perform(byId("save"), byId("rule-done"), async () => {
      const same = edited?.shown === byId("rule-id").value;
      const id = same ? edited.id : byId("rule-id").value;
      const { tags, priority, data } = edited ?? {};
      const kept = same ? { tags, priority, data } : {};
      const done = await answer("PUT", "rule", { params: { id }, body: { rule: ruleText(), ...kept } });
      onSaved();
      return `Rule ${id} ${done.is_new ? "created" : "updated"}.`;
    });
  });

  byId("publish").addEventListener("click", () => {
    const event = currentEvent();
    if (event === null) return;
    perform(byId("publish"), byId("event-done"), async () => {
      const { id, matched } = await answer("POST", "events", { body: event });
      return `Event ${id} accepted: ${matched} ${matched === 1 ? "subscription matches" : "subscriptions match"}.`;
    });
  });

  byId("explain").addEventListener("click", () => {
    const event = currentEvent();
    if (event !== null) showExplanation("Rule and event", ruleText(), event);
  });

  byId("match").addEventListener("click", () => {
    const event = currentEvent();
    if (event !== null) perform(byId("match"), byId("event-done"), () => matches(event));
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

const SHOWN = 20; // the most rules that are listed

async function matches(event) {
  const body = { event, why_not: 5, limit: SHOWN };
  const found = (await answer("POST", "match", { body })).results[0];
  const ids = found.matches.map(({ id }) => explainButton(id, event, "match"));
  const near = (found.near || []).map(({ id, lacked }) =>
    element("li", {}, explainButton(id, event, "near"), " lacks ", element("code", {}, lacked.join(", "))));
  const count = found.matches.length === SHOWN ? `At least ${SHOWN} rules match` : ids.length === 1 ? "1 rule matches" : `${ids.length} rules match`;
  return [
    element("p", {}, ids.length ? `${count}: ` : "No rule matches.", ...ids.flatMap((button) => [button, " "])),
    ...(near.length ? [element("p", {}, "Closest other rules:"), element("ul", { id: "near" }, ...near)] : []),
  ];
}

// A button with the id of a rule, which explains the rule for the event.
function explainButton(id, event, kind) {
  const show = async () => {
    const { rule } = await answer("GET", "rule", { params: { id } });
    await showExplanation(`Rule ${id}`, rule, event);
  };
  return element("button", { type: "button", class: `plain ${kind}`, onclick: show }, id);
}
