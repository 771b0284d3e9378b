// Events, matches and deliveries per second over the last hour, as lines. For administrators.

import { answer } from "./service.js";
import { byId, element } from "./elements.js";

const SHOWN = { events: "Events", matches: "Matches", deliveries: "Streams and polls", webhook_calls: "Webhook calls", dead_letters: "Dead letters" };
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 180;
const HEIGHT = 32;

export async function showRates() {
  try {
    const { seconds, samples } = await answer("GET", "rates");
    byId("rates").hidden = !samples.length;
    byId("rate-list").replaceChildren(
      ...Object.entries(SHOWN).map(([name, title]) => rate(title, samples.map((sample) => sample[name]), seconds)));
  } catch {
    byId("rates").hidden = true; // only administrators may see them
  }
}

const shown = (value) => value.toLocaleString(undefined, { maximumSignificantDigits: 3 });

function rate(title, values, seconds) {
  const now = values.at(-1) ?? 0;
  const most = Math.max(...values, 0);
  const minutes = Math.max(1, Math.round((values.length * seconds) / 60));
  return element(
    "li",
    {},
    element("strong", {}, title),
    element("span", { class: "rate" }, `${shown(now)} per second`),
    line(values, most),
    element("span", { class: "seen" }, `at most ${shown(most)} in ${minutes} min`),
  );
}

function line(values, most) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("aria-hidden", "true");
  const drawn = document.createElementNS(SVG, "polyline");
  const step = WIDTH / Math.max(1, values.length - 1);
  const height = (value) => HEIGHT - 1 - (value / (most || 1)) * (HEIGHT - 2);
  drawn.setAttribute("points", values.map((value, n) => `${(n * step).toFixed(1)},${height(value).toFixed(1)}`).join(" "));
  svg.append(drawn);
  return svg;
}
