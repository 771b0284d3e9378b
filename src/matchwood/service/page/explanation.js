// Explains a rule for an event: each node is true, false or undefined, with the values seen.

import { answer } from "./service.js";
import { byId, element } from "./elements.js";

const SIGNS = { true: "✓ true", false: "✗ false", undefined: "? undefined" };

export function drawn(explanation) {
  const nodes = explanation.nodes.map((node) => {
    const seen = Object.entries(node.seen).map(([name, value]) => `${name}: ${value}`).join(", ");
    return element(
      "li",
      {},
      element("span", { class: `truth ${node.truth}` }, SIGNS[node.truth]),
      "\u00a0\u00a0".repeat(node.depth) + node.node,
      seen ? element("span", { class: "seen" }, seen) : null,
    );
  });
  return element("ul", { class: "nodes", tabindex: "0", "aria-label": "Explanation" }, ...nodes);
}

export const explained = (rule, event) => answer("POST", "explain", { body: { rule, event } });

export async function showExplanation(title, rule, event) {
  let body;
  try {
    const found = await explained(rule, event);
    const verdict = { true: "The rule matches", false: "The rule does not match", undefined: "The rule is undefined, so it does not match" };
    body = [element("p", {}, `${verdict[found.truth]}.`), drawn(found)];
  } catch (error) {
    body = [element("p", { class: "false" }, error.message)];
  }
  byId("dialog-title").textContent = title;
  byId("dialog-body").replaceChildren(element("pre", {}, rule), ...body);
  byId("dialog").showModal();
}
