// Requests to the service with the key that was entered, and streams of matches.

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The service answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

// JavaScript rounds integers above 2^53, and writes 1.0 as 1. Numbers that it would change are kept
// as they were written; where a browser cannot do that yet, they are rounded.
const exactly = (key, value, context) =>
  typeof value === "number" && context && JSON.rawJSON && String(value) !== context.source
    ? JSON.rawJSON(context.source)
    : value;

export const parseExactly = (text) => JSON.parse(text, exactly);

let key = sessionStorage.getItem("key") || "";

export function useKey(entered) {
  key = entered.trim();
  sessionStorage.setItem("key", key);
}

export function currentKey() {
  return key;
}

export async function ask(method, path, { body, params, secret, signal, headers } = {}) {
  const query = params ? "?" + new URLSearchParams(params) : "";
  const bearer = secret || key;
  const response = await fetch(path + query, {
    method,
    signal,
    cache: "no-store",
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(bearer ? { Authorization: `Bearer ${bearer}` } : {}),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Refused(response.status, await response.json().catch(() => ({})));
  }
  return response;
}

// The answer as an object. With the option `exact`, which is for answers with events, numbers in it
// that JavaScript would change are kept as they were written: they can be shown, and sent again.
export async function answer(method, path, options) {
  const response = await ask(method, path, options);
  if (response.status === 204) return null;
  return options?.exact ? parseExactly(await response.text()) : response.json();
}

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const RETRY = 500; // milliseconds before the first retry, doubled with every failure
const LONGEST = 15000; // the most milliseconds between retries
const POLL = 2000; // milliseconds between polls

// Reports every match of a subscription after `last`, until `signal` is aborted: over a stream, or by
// polling, which does not occupy a connection. A stream that breaks off is resumed after the last
// match. EventSource would do that too, but cannot send a ticket.
export async function watch(subscription, { streamed, last, onMatch, onState, signal }) {
  let pause = RETRY;
  const take = (match) => {
    last = match.id;
    onMatch(match);
  };
  while (!signal.aborted) {
    try {
      const work = streamed ? follow : poll;
      if (await work(subscription, last, { take, onState, signal })) pause = RETRY;
      if (!streamed) {
        await sleep(POLL);
        continue;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && ![429, 503].includes(error.status)) {
        onState("gone", error);
        return;
      }
    }
    if (signal.aborted) return;
    onState("waiting");
    await sleep(pause * (0.5 + Math.random() / 2));
    pause = Math.min(pause * 2, LONGEST);
  }
}

const pathOf = (id) => `subscriptions/${encodeURIComponent(id)}`;

async function follow({ id, ticket }, last, { take, onState, signal }) {
  const headers = last === null ? {} : { "Last-Event-ID": String(last) };
  const response = await ask("GET", `${pathOf(id)}/stream`, { secret: ticket, signal, headers });
  onState("open");
  let lived = false;
  for await (const message of messages(response.body)) {
    lived = true;
    if (message.event === "match") take(parseExactly(message.data));
  }
  return lived;
}

async function poll({ id, ticket }, last, { take, onState, signal }) {
  const params = last === null ? {} : { ack: last };
  const found = await answer("GET", `${pathOf(id)}/events`, { secret: ticket, signal, params, exact: true });
  onState("open");
  found.events.forEach(take);
  return true;
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
