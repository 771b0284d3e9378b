// Requests to the service, with the key that the page was given, and streams of matches.

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the service answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

let key = sessionStorage.getItem("key") || "";

export function useKey(given) {
  key = given.trim();
  sessionStorage.setItem("key", key);
}

export function givenKey() {
  return key;
}

export async function ask(method, path, { body, params, secret, signal, headers } = {}) {
  const query = params ? "?" + new URLSearchParams(params) : "";
  const shown = secret || key;
  const response = await fetch(path + query, {
    method,
    signal,
    cache: "no-store",
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(shown ? { Authorization: `Bearer ${shown}` } : {}),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Refused(response.status, await response.json().catch(() => ({})));
  }
  return response;
}

export async function answer(method, path, options) {
  const response = await ask(method, path, options);
  return response.status === 204 ? null : response.json();
}

const waiting = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Every match of a subscription, for as long as `signal` allows. A stream that breaks off is
// resumed after the last match; EventSource would do that too, but cannot show a ticket.
export async function watch({ id, ticket }, { onMatch, onState, signal }) {
  let last = null;
  let pause = 500;
  while (!signal.aborted) {
    try {
      const headers = last === null ? {} : { "Last-Event-ID": String(last) };
      const path = `subscriptions/${encodeURIComponent(id)}/stream`;
      const response = await ask("GET", path, { secret: ticket, signal, headers });
      onState("open");
      for await (const message of messages(response.body)) {
        pause = 500;
        if (message.event === "match") {
          const match = JSON.parse(message.data);
          last = match.id;
          onMatch(match);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && ![429, 503].includes(error.status)) {
        onState("gone", error);
        return;
      }
    }
    onState("waiting");
    await waiting(pause * (0.5 + Math.random() / 2));
    pause = Math.min(pause * 2, 15000);
  }
}

async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let message = { event: "message", data: [] };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (message.data.length) yield { event: message.event, data: message.data.join("\n") };
        message = { event: "message", data: [] };
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") message.event = text;
      if (field === "data") message.data.push(text);
      if (colon === 0) yield { event: "comment", data: "" };
    }
  }
}
