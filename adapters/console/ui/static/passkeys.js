// Signs approvals with passkeys and creates passkeys. Without it nothing is signed, and the server reports that.
"use strict";
(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const plain = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
  const url = (buffer) => plain(buffer).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const handles = (text) => (text || "").split(" ").filter(Boolean).map((id) => ({ type: "public-key", id: bytes(id) }));

  const sign = async (ask) => {
    const made = await navigator.credentials.get({ publicKey: { challenge: bytes(ask.challenge), rpId: ask.rp, allowCredentials: handles(ask.handles), userVerification: "required" } });
    const r = made.response;
    return { handle: url(made.rawId), client_data: plain(r.clientDataJSON), authenticator_data: plain(r.authenticatorData), signature: plain(r.signature) };
  };
  const make = async (ask) => {
    const made = await navigator.credentials.create({ publicKey: {
      challenge: bytes(ask.challenge), rp: { id: ask.rp, name: "Countersign" }, user: { id: bytes(ask.user), name: ask.name, displayName: ask.name },
      pubKeyCredParams: ask.algorithms.split(" ").map((alg) => ({ type: "public-key", alg: Number(alg) })), excludeCredentials: handles(ask.handles), attestation: "none",
      authenticatorSelection: { userVerification: "required", residentKey: "discouraged" },
    } });
    const r = made.response;
    return { id: made.id, rawId: url(made.rawId), type: made.type, response: { clientDataJSON: url(r.clientDataJSON), attestationObject: url(r.attestationObject), transports: r.getTransports ? r.getTransports() : [] } };
  };

  // why returns the meaning of a browser error.
  const why = (e) => ({
    NotAllowedError: "Cancelled, timed out, or the authenticator did not verify you.", InvalidStateError: "This authenticator already has a passkey for this console.",
    SecurityError: "This browser does not support passkeys for this address.", NotSupportedError: "This authenticator does not support the required kind of passkey.",
  })[e && e.name] || "The browser reported an error" + (e && e.message ? ": " + e.message : ".");

  let busy = false;
  document.addEventListener("click", async (e) => {
    const button = e.target.closest && e.target.closest("button[data-passkey]");
    if (!button || e.defaultPrevented) return;
    e.preventDefault();
    const form = button.form, field = form.querySelector("input[name=signed]"), said = form.querySelector("[data-passkey-said]");
    if (busy || !field || !form.reportValidity()) return;
    const say = (words) => { if (said) said.textContent = words; };
    if (!globalThis.PublicKeyCredential || !navigator.credentials) { say("This browser does not support passkeys, or not for this address."); return; }
    busy = true;
    say("Use your authenticator.");
    try {
      const ask = { ...button.dataset, name: (form.querySelector("input[name=name]") || {}).value };
      field.value = JSON.stringify(button.dataset.passkey === "make" ? await make(ask) : await sign(ask));
      say("");
      if (form.isConnected) form.requestSubmit(button);
    } catch (problem) {
      say(why(problem));
    } finally {
      busy = false;
    }
  });
})();
