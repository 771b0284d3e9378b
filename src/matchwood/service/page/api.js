// The OpenAPI description of the service, written out for people. Nothing is loaded from elsewhere.

import { byId, element } from "./elements.js";

const METHODS = ["get", "put", "post", "patch", "delete"];

// The text of a schema's type: a model's name, a list of something, or a plain type.
function typeOf(schema) {
  if (!schema) return "anything";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  const several = schema.anyOf || schema.oneOf;
  if (several) return several.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.type || "anything";
}

const list = (title, rows) =>
  rows.length ? [element("h4", {}, title), element("ul", {}, ...rows)] : [];

const row = (name, ...about) => element("li", {}, element("code", {}, name), ...about);

function parameterRow({ name, in: place, required, schema, description }) {
  const about = ` in the ${place}: ${typeOf(schema)}${required ? ", required" : ""}`;
  return row(name, description ? `${about}. ${description}` : about);
}

function fieldRows(schema) {
  const required = new Set(schema?.required || []);
  return Object.entries(schema?.properties || {}).map(([field, about]) => {
    const text = `: ${typeOf(about)}${required.has(field) ? ", required" : ""}`;
    return row(field, about.description ? `${text}. ${about.description}` : text);
  });
}

const contentRows = (content) =>
  Object.entries(content || {}).flatMap(([type, { schema }]) => [row(type, `: ${typeOf(schema)}`), ...fieldRows(schema)]);

function operation(method, path, about) {
  const answers = Object.entries(about.responses).map(([status, { description, content }]) => {
    const types = Object.values(content || {}).map(({ schema }) => typeOf(schema));
    return row(status, ` ${description}${types.length ? `: ${types.join(" or ")}` : ""}`);
  });
  return element(
    "details",
    { class: "operation" },
    element("summary", {}, element("strong", {}, method.toUpperCase()), " ", element("code", {}, path)),
    element("p", {}, about.description || about.summary || ""),
    ...list("Parameters", (about.parameters || []).map(parameterRow)),
    ...list("Body", contentRows(about.requestBody?.content)),
    ...list("Answers", answers),
  );
}

function model(name, schema) {
  return element(
    "details",
    { class: "operation", id: `model-${name}` },
    element("summary", {}, element("code", {}, name)),
    element("p", {}, schema.description || ""),
    ...list("Fields", fieldRows(schema)),
  );
}

const panel = (title, parts) =>
  element("section", { class: "panel wide" }, element("h2", {}, title), ...parts);

function draw(api) {
  const byTag = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => methods[name])) {
      const tag = methods[method].tags?.at(-1) || "other";
      byTag.set(tag, [...(byTag.get(tag) || []), operation(method, path, methods[method])]);
    }
  }
  const models = Object.entries(api.components?.schemas || {}).map(([name, schema]) => model(name, schema));
  byId("operations").replaceChildren(
    ...[...byTag].map(([tag, parts]) => panel(tag, parts)), panel("models", models));
  byId("status").textContent = `Version ${api.info.version}`;
}

try {
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`The service answered ${response.status}`);
  draw(await response.json());
} catch (error) {
  byId("status").textContent = error.message;
}
