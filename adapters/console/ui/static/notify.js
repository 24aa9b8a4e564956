// How this browser tells its person that something waits: a notification and a sound, each once it was switched on here. What is remembered stays in
// this browser, and says nothing but that.
"use strict";
(() => {
  const prefix = "countersign-";
  const get = (name) => { try { return localStorage.getItem(prefix + name); } catch { return null; } };
  const set = (name, value) => { try { localStorage.setItem(prefix + name, value); } catch { /* for this page alone, then */ } };
  const on = (name) => get(name) === "on";
  const can = () => globalThis.isSecureContext && "Notification" in globalThis;
  const words = (n) => n === 1 ? "One approval waits for you" : n + " approvals wait for you";

  // chime is two short tones. Browsers play nothing on a page that nobody has touched.
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
    if (document.hasFocus() && location.pathname.startsWith("/approvals")) return; // it is in sight
    const shown = new Notification(words(n), { body: "Countersign", tag: "countersign", renotify: true });
    shown.addEventListener("click", () => { shown.close(); globalThis.focus(); location.assign("/approvals"); });
  };

  // kept reads a number that all pages share and writes what change makes of it, as one step: what one page puts into localStorage, another one may see later.
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
    } catch { // a browser that keeps no database for this page
      const was = Number(get("told-" + name) || 0);
      if (change(was) !== was) set("told-" + name, String(change(was)));
      return was;
    }
  };

  // rose reports whether more wait than this browser has told of by that means. Of all its pages one finds so.
  const rose = async (means, n, able) => able && n > await kept(means, (told) => n < told || able ? n : told);
  const tell = async () => {
    const n = Number(document.documentElement.dataset.waiting || 0);
    const active = !navigator.userActivation || navigator.userActivation.hasBeenActive;
    try {
      if (await rose("notices", n, true) && on("notices") && can() && Notification.permission === "granted") show(n);
      if (await rose("sound", n, active) && on("sound")) chime().catch(() => {});
    } catch { /* this browser shows none after all */ }
  };
  const alone = () => { if (navigator.locks) navigator.locks.request(prefix + "told", tell).catch(() => {}); else tell(); };

  // draw has the switches say how they stand.
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
    if (on("notices") && can() && Notification.permission === "granted") { set("notices", "off"); return "This browser shows no notifications any more."; }
    if (!can()) return "This browser shows notifications only on this machine's own address, or over https.";
    if (await Notification.requestPermission() !== "granted") return "This browser does not allow it. Allow notifications of this address in its settings, then press again.";
    set("notices", "on");
    return "This browser shows a notification when something waits.";
  };
  const sound = async () => {
    if (on("sound")) { set("sound", "off"); return "This browser plays no sound any more."; }
    set("sound", "on");
    await chime();
    return "This browser plays this sound when something waits, on a page that you have clicked or typed in.";
  };
  document.addEventListener("click", async (e) => {
    const button = e.target.closest && e.target.closest("#telling [data-tell]");
    if (!button) return;
    let text;
    try { text = await (button.dataset.tell === "sound" ? sound() : notices()); } catch { text = "This browser cannot do that."; }
    draw(text);
  });
  document.addEventListener("console:waiting", alone);
  document.addEventListener("console:fresh", () => draw());
  draw();
  if (document.documentElement.dataset.waiting !== undefined) alone();
})();
