// Notifications and sounds for pending approvals, each if the user enabled it in this browser. The browser stores only these settings and the number of
// approvals that were announced.
"use strict";
(() => {
  const prefix = "countersign-";
  const get = (name) => { try { return localStorage.getItem(prefix + name); } catch { return null; } };
  const set = (name, value) => { try { localStorage.setItem(prefix + name, value); } catch { /* only for this page */ } };
  const on = (name) => get(name) === "on";
  const can = () => globalThis.isSecureContext && "Notification" in globalThis;
  const words = (n) => n === 1 ? "1 pending approval" : n + " pending approvals";

  // chime plays two short tones. Browsers play sound only after the user has interacted with the page.
  let audio = null;
  const chime = async () => {
    audio = audio || new AudioContext();
    await audio.resume();
    [784, 1047].forEach((pitch, i) => {
      const tone = audio.createOscillator(), volume = audio.createGain(), at = audio.currentTime + i * .18;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(.0001, at);
      volume.gain.exponentialRampToValueAtTime(.2, at + .02);
      volume.gain.exponentialRampToValueAtTime(.0001, at + .35);
      tone.connect(volume).connect(audio.destination);
      tone.start(at);
      tone.stop(at + .4);
    });
  };
  const show = (n) => {
    if (document.hasFocus() && location.pathname.startsWith("/approvals")) return; // the page shows it
    const shown = new Notification(words(n), { body: "Countersign", tag: "countersign", renotify: true });
    shown.addEventListener("click", () => { shown.close(); globalThis.focus(); location.assign("/approvals"); });
  };

  // kept reads a number that all pages share and writes the result of change, in one transaction: localStorage has no transactions.
  let database = null;
  const open = () => new Promise((go, fail) => {
    const asked = indexedDB.open("countersign", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("told");
    asked.onsuccess = () => go(asked.result);
    asked.onerror = asked.onblocked = () => fail(asked.error);
  });
  const kept = async (name, change) => {
    try {
      database = database || open();
      const step = (await database).transaction("told", "readwrite"), told = step.objectStore("told");
      return await new Promise((go, fail) => {
        let was = 0;
        const read = told.get(name);
        read.onsuccess = () => { was = read.result || 0; if (change(was) !== was) told.put(change(was), name); };
        step.oncomplete = () => go(was);
        step.onerror = step.onabort = () => fail(step.error);
      });
    } catch { // a browser without a database for this page
      const was = Number(get("told-" + name) || 0);
      if (change(was) !== was) set("told-" + name, String(change(was)));
      return was;
    }
  };

  // rose reports whether n exceeds the number that this browser has announced by that means. It is true on only one of its pages.
  const rose = async (means, n, able) => able && n > await kept(means, (told) => n < told || able ? n : told);
  const tell = async () => {
    const n = Number(document.documentElement.dataset.waiting || 0);
    const active = !navigator.userActivation || navigator.userActivation.hasBeenActive;
    try {
      if (await rose("notices", n, true) && on("notices") && can() && Notification.permission === "granted") show(n);
      if (await rose("sound", n, active) && on("sound")) chime().catch(() => {});
    } catch { /* this browser shows no notifications */ }
  };
  const alone = () => { if (navigator.locks) navigator.locks.request(prefix + "told", tell).catch(() => {}); else tell(); };

  // draw updates the switches.
  const draw = (text) => {
    const box = document.getElementById("telling");
    if (!box) return;
    box.hidden = false;
    const notices = on("notices") && can() && Notification.permission === "granted";
    box.querySelector("[data-tell=notices]").setAttribute("aria-pressed", String(notices));
    box.querySelector("[data-tell=sound]").setAttribute("aria-pressed", String(on("sound")));
    if (text !== undefined) box.querySelector("[role=status]").textContent = text;
  };
  const notices = async () => {
    if (on("notices") && can() && Notification.permission === "granted") { set("notices", "off"); return "Notifications disabled."; }
    if (!can()) return "Notifications need an HTTPS address or localhost.";
    if (await Notification.requestPermission() !== "granted") return "Notifications are blocked. Allow them for this address in the browser settings, then retry.";
    set("notices", "on");
    return "Notifications enabled for new approval requests.";
  };
  const sound = async () => {
    if (on("sound")) { set("sound", "off"); return "Sound disabled."; }
    set("sound", "on");
    await chime();
    return "Sound enabled for new approval requests. It plays on pages that you have clicked or typed in.";
  };
  document.addEventListener("click", async (e) => {
    const button = e.target.closest && e.target.closest("#telling [data-tell]");
    if (!button) return;
    let text;
    try { text = await (button.dataset.tell === "sound" ? sound() : notices()); } catch { text = "Not supported by this browser."; }
    draw(text);
  });
  document.addEventListener("console:waiting", alone);
  document.addEventListener("console:fresh", () => draw());
  draw();
  if (document.documentElement.dataset.waiting !== undefined) alone();
})();
