// Ctrl K or ⌘ K opens the search. Without scripts its link opens a page with the same list.
"use strict";
(() => {
  const link = document.querySelector(".top .find");
  if (!link) return;
  if (/Mac|iP/.test(navigator.platform)) link.dataset.shortcut = "⌘ K";
  const make = (name, attributes, ...inside) => {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...inside);
    return e;
  };
  const field = make("input", { type: "search", id: "find-words", role: "combobox", "aria-expanded": "true", "aria-controls": "find-places", "aria-autocomplete": "list", "aria-label": "Search", autocomplete: "off", spellcheck: "false", placeholder: "Search pages, approvals, projects, sandboxes and packs" });
  const list = make("ul", { id: "find-places", role: "listbox", "aria-label": "Results" });
  const told = make("p", { role: "status", class: "quiet" });
  const box = make("dialog", { class: "palette", "aria-label": "Search" }, field, list, told);
  document.body.append(box);

  let places = [], shown = [], at = 0;
  const mark = () => {
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    const now = list.children[at];
    if (now) { field.setAttribute("aria-activedescendant", now.id); now.scrollIntoView({ block: "nearest" }); } else field.removeAttribute("aria-activedescendant");
  };
  // show lists the places that contain all words, those that begin with the first word first.
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = places.filter((p) => words.every((w) => (p.text + " " + p.kind).toLowerCase().includes(w)));
    const first = (p) => words.length && p.text.toLowerCase().startsWith(words[0]) ? 0 : 1;
    shown = all.sort((a, b) => first(a) - first(b)).slice(0, 50);
    at = 0;
    list.replaceChildren(...shown.map((p, i) => make("li", { id: "find-" + i, role: "option" }, make("span", { class: "what" }, p.text), make("span", { class: "quiet" }, p.kind))));
    told.textContent = shown.length === 1 ? "1 result" : shown.length ? shown.length + " results" : "No results.";
    mark();
  };
  const go = (i) => { if (shown[i] && shown[i].href.startsWith("/")) location.assign(shown[i].href); };
  const open = async () => {
    if (box.open) return;
    field.value = "";
    box.showModal();
    field.focus();
    show();
    try {
      const answer = await fetch("/find.json", { credentials: "same-origin" });
      if (answer.redirected) { location.assign("/find"); return; }
      if (answer.ok) places = await answer.json();
    } catch { told.textContent = "No answer from the server."; return; }
    show();
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (e) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[e.key];
    if (e.key === "Enter") go(at);
    else if (to !== undefined && shown.length) at = Math.abs(to - at) === 1 ? (to + shown.length) % shown.length : Math.min(Math.max(to, 0), shown.length - 1);
    else return;
    e.preventDefault();
    mark();
  });
  list.addEventListener("click", (e) => { const item = e.target.closest("li"); if (item) go([...list.children].indexOf(item)); });
  box.addEventListener("click", (e) => { if (e.target === box) box.close(); });
  link.addEventListener("click", (e) => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey) { e.preventDefault(); open(); } });
  addEventListener("keydown", (e) => { if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") { e.preventDefault(); open(); } });
  document.addEventListener("console:find", open);
})();
