package confirm

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/policy"
)

// Surface is where the user decided (consent design, section 3). The zero Surface proves nothing.
type Surface string

// The surfaces, from the weakest to the strongest proof.
const (
	SurfaceProgram  Surface = "program"  // an embedding program states it
	SurfaceForm     Surface = "form"     // the host's form, if the user enabled that
	SurfaceTerminal Surface = "terminal" // a controlling terminal that showed the whole plan
	SurfaceConsole  Surface = "console"  // a logged-in browser
	SurfaceTouch    Surface = "touch"    // a terminal, and the signature of a touched security key
	SurfacePasskey  Surface = "passkey"  // a browser, and a passkey's assertion with user verification
)

// Words returns the name of the surface for display.
func (s Surface) Words() string {
	switch s {
	case SurfaceProgram:
		return "a decision by the embedding program"
	case SurfaceForm:
		return "a decision in the host's form"
	case SurfaceTerminal:
		return "a decision in a terminal"
	case SurfaceConsole:
		return "a decision in the console"
	case SurfaceTouch:
		return "a security key"
	case SurfacePasskey:
		return "a passkey"
	}
	return "a decision without proof"
}

// Proof is the evidence that the user made a decision. It contains what the channel knows, never what a client claims.
type Proof struct {
	Surface    Surface         `json:"surface,omitempty"`
	User       string          `json:"user,omitempty"`       // the account, or the user's name in the console
	TTY        string          `json:"tty,omitempty"`        // of a terminal
	Host       string          `json:"host,omitempty"`       // the machine
	Credential string          `json:"credential,omitempty"` // the browser session, the passkey or the key
	Entry      string          `json:"entry,omitempty"`      // the host entry of a form
	Evidence   json.RawMessage `json:"evidence,omitempty"`   // a passkey's assertion or a key's signature, verifiable from the record alone
}

// way returns where an approval with a sufficient proof can be given.
func (g *Request) way() string {
	const console = "countersign login /approvals opens it"
	switch g.Needs {
	case policy.ProvingTerminal:
		return "run countersign approve " + g.ID + " in a terminal"
	case policy.ProvingConsole:
		return "approve it in the console (" + console + ")"
	case policy.ProvingTouch:
		return "run countersign approve " + g.ID + " in a terminal that has the security key, or approve it with a passkey in the console (" + console + ")"
	case policy.ProvingPasskey:
		return "approve it with a passkey in the console (" + console + "; to enrol one, run countersign login /keys; to clear a lost one, set forget_keys: [ID] in the system's file)"
	}
	return "run countersign approve " + g.ID + " in a terminal, or approve it in the console (" + console + ")"
}

// Meets reports whether the proof is as strong as required. An unknown proof meets nothing.
func (p Proof) Meets(needs policy.Proving) bool {
	switch needs {
	case policy.ProvingNone:
		return p.Surface != ""
	case policy.ProvingPerson:
		return p.Surface == SurfaceTerminal || p.Surface == SurfaceConsole || p.Surface == SurfaceTouch || p.Surface == SurfacePasskey
	case policy.ProvingTerminal:
		return p.Surface == SurfaceTerminal || p.Surface == SurfaceTouch
	case policy.ProvingConsole:
		return p.Surface == SurfaceConsole || p.Surface == SurfacePasskey
	case policy.ProvingTouch:
		return p.Surface == SurfaceTouch || p.Surface == SurfacePasskey
	case policy.ProvingPasskey:
		return p.Surface == SurfacePasskey
	}
	return false
}
