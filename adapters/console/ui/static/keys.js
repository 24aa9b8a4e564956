// Single-key shortcuts on the approval page, as in the terminal. No key approves or denies directly. Users can disable them; the browser stores that.
"use strict";
(() => {
  const name = "countersign-keys";
  let off = false;
  try { off = localStorage.getItem(name) === "off"; } catch { /* enabled */ }
  const box = () => document.getElementById("keys");
  const draw = () => {
    if (!box()) return;
    box().hidden = false;
    box().querySelector("[data-keys]").setAttribute("aria-pressed", String(!off));
  };
  // step opens the next or previous approval in the queue.
  const step = (by) => {
    const all = [...document.querySelectorAll("#queue a")], at = all.findIndex((a) => a.hasAttribute("aria-current")), next = all[at + by];
    if (next) location.assign(next.href);
  };
  const focus = (...selectors) => {
    for (const s of selectors) {
      const e = document.querySelector(".decision " + s);
      if (e && e.checkVisibility()) { e.focus(); return; }
    }
  };
  const does = {
    j: () => step(1), k: () => step(-1),
    a: () => focus("input[name=typed_value]", "button[value=approve]"), d: () => focus("input[name=reason]", "button[value=deny]"),
    "/": () => document.dispatchEvent(new Event("console:find")),
    "?": () => { box().querySelector("button").focus(); box().scrollIntoView({ block: "center" }); },
  };
  addEventListener("keydown", (e) => {
    if (off || !box() || e.ctrlKey || e.metaKey || e.altKey || e.repeat || !Object.hasOwn(does, e.key)) return;
    if (document.querySelector("dialog[open]") || e.target.closest && e.target.closest("input, textarea, select, [contenteditable]")) return;
    e.preventDefault();
    does[e.key]();
  });
  document.addEventListener("click", (e) => {
    if (!e.target.closest || !e.target.closest("[data-keys]")) return;
    off = !off;
    try { localStorage.setItem(name, off ? "off" : "on"); } catch { /* only for this page */ }
    draw();
  });
  document.addEventListener("console:fresh", draw);
  draw();
})();
