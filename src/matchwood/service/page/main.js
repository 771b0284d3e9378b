// Starts the parts of the page and connects them.

import { answer, currentKey, useKey } from "./service.js";
import { byId, debounced } from "./elements.js";
import { startEditor } from "./editor.js";
import { follow, startLive } from "./live.js";
import { first, startLists } from "./lists.js";
import { showRates } from "./rates.js";

const STATUS_INTERVAL = 5000; // milliseconds between updates of the status

async function status() {
  try {
    const found = await answer("GET", "status");
    const count = (number, what) => `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
    byId("status").textContent =
      `${count(found.rules, "rule")}, ${count(found.subscriptions, "subscription")}`;
  } catch (error) {
    byId("status").textContent = error.status === 401 ? "This service requires a key." : error.message;
  }
}

function changed() {
  status();
  showRates();
  first();
}

startEditor({
  onSubscribed: (subscription) => {
    follow(subscription);
    changed();
  },
  onSaved: changed,
});
startLive();
startLists();
status();
showRates();
setInterval(() => {
  if (document.hidden) return;
  status();
  showRates();
}, STATUS_INTERVAL);

byId("key").value = currentKey();
byId("key").addEventListener("input", debounced(400, () => {
  useKey(byId("key").value);
  changed();
}));
byId("key-form").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "/" && !typing && !byId("dialog").open) {
    event.preventDefault();
    byId("search").focus();
  }
});
