// Elements are built from text only, never from markup: rules and events come from other people.

export const byId = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Shows a message of a kind ("good", "bad", "false" or "") in an element.
export function say(target, kind, ...children) {
  target.className = target.classList.contains("verdict") ? `verdict ${kind}` : kind;
  target.replaceChildren(...children);
}

// Debounces: runs the work once no call has come for so many milliseconds.
export function debounced(milliseconds, work) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), milliseconds);
  };
}
