package planner

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/countersign-dev/countersign/domain/sorting"
	"github.com/countersign-dev/countersign/domain/tool"
)

// kind is the JSON type of an argument.
type kind uint8

const (
	text kind = iota
	boolean
	integer
	texts
	object
)

// argument is one argument of a tool.
type argument struct {
	name, description string
	kind              kind
	enum              []string
	required          bool
	scopes            bool // the scope of targets, not of overlays
}

func (a argument) needed() argument {
	a.required = true
	return a
}

// The arguments that several tools take.
func repo() argument {
	return argument{name: "repo", description: "Config repository."}
}

func machine() argument {
	return argument{name: "machine", description: "Machine id."}
}

func targetFilter() argument {
	return argument{name: "target", description: "One target, or all of them (default: all)."}
}

func dryRun() argument {
	return argument{name: "dry_run", description: "Change nothing.", kind: boolean}
}

func yes() argument {
	return argument{name: "yes", description: "Approves the change.", kind: boolean}
}

func adopt() argument {
	return argument{name: "adopt", description: "Allow overwriting files that no deployment wrote.", kind: boolean}
}

func moduleID() argument { return argument{name: "module_id", description: "A module's id."} }

func overlayScope() argument {
	return argument{name: "scope", description: "Overlay scope (default: global).", enum: []string{"global", "machine", "project"}}
}

func targetScope() argument {
	return argument{name: "scope", description: "Where files go (default: both).", enum: []string{"user", "project", "both"}, scopes: true}
}

func flag(name, description string) argument {
	return argument{name: name, description: description, kind: boolean}
}

// argumentsOf are the arguments that a tool takes, in the order of their listing. confirm_token is not among them: the door takes it.
func argumentsOf(of tool.Name) []argument {
	profile := argument{name: "profile", description: "Profile (default: default)."}
	common := []argument{repo(), profile, targetFilter(), machine(), dryRun()}
	switch of {
	case "plan", "diff", "deploy":
		return common
	case "preview":
		return append(common, flag("diff", "Include diffs."))
	case "status":
		return append(common, argument{name: "only", kind: texts, description: "Kinds of drift.", enum: []string{"missing", "modified", "extra"}})
	case "doctor":
		return []argument{repo(), targetFilter()}
	case "deploy_apply":
		return append(common, adopt(), yes())
	case "rollback":
		return []argument{repo(), argument{name: "to", description: "a snapshot's id, or initial"}.needed(), yes().needed()}
	case "evolve_propose":
		return append(common, moduleID(), overlayScope(), argument{name: "branch", description: "Branch to create."}, yes())
	case "evolve_restore":
		return append(common, moduleID(), yes())
	case "explain":
		return append(common[:4:4], argument{name: "kind", description: "plan, diff or status", enum: []string{"plan", "diff", "status"}}.needed())
	}
	return authoring(of)
}

// authoring are the arguments of the tools that look after the config repository itself.
func authoring(of tool.Name) []argument {
	edit := []argument{repo(), dryRun(), yes()}
	with := func(more ...argument) []argument { return append(more, edit...) }
	list := func(name, description string) argument {
		return argument{name: name, kind: texts, description: description}
	}
	switch of {
	case "agents_init":
		return with(flag("git", "Also make it a git repository."), flag("bootstrap", "Also write the operator assets."), list("targets", "Targets to configure."), targetScope())
	case "agents_add":
		return with(argument{name: "module_type", description: "Type of the module.", enum: []string{"instructions", "skill", "prompt", "command", "mcp", "settings"}}.needed(),
			argument{name: "source", description: "local:<path> or git:<url>[#ref=..&subdir=..]"}.needed(), argument{name: "id", description: "Id of the module."},
			list("tags", "Tags."), list("targets", "Targets it is for (default: all)."))
	case "agents_remove":
		return with(moduleID().needed())
	case "agents_update":
		return with(flag("lock", "Lock again."), flag("fetch", "Fetch."), flag("no_lock", "Do not lock."), flag("no_fetch", "Do not fetch."), flag("latest", "Lock again to what the refs are now."))
	case "agents_overlay_edit":
		return with(moduleID().needed(), overlayScope(), argument{name: "kind", description: "Kind (default: dir).", enum: []string{"dir", "patch"}},
			flag("sparse", "Metadata only."), flag("materialize", "Copy upstream files that are missing."), machine())
	case "agents_overlay_path":
		return []argument{repo(), moduleID().needed(), overlayScope(), machine()}
	case "agents_overlay_rebase":
		return with(moduleID().needed(), overlayScope(), flag("sparsify", "Drop files that equal upstream."), machine())
	case "agents_import", "agents_import_apply":
		return with(argument{name: "home_root", description: "Home directory to scan."}, machine())
	case "agents_bootstrap":
		return with(targetFilter(), targetScope(), adopt(), flag("remove", "Take them away, and put back what they overwrote."), machine())
	case "agents_doctor_fix":
		return with(targetFilter(), machine())
	}
	return operating(of, edit)
}

func operating(of tool.Name, edit []argument) []argument {
	with := func(more ...argument) []argument { return append(more, edit...) }
	switch of {
	case "agents_snapshots_list", "agents_policy_lint", "agents_policy_audit", "agents_score", "agents_pending":
		return []argument{repo()}
	case "agents_snapshots_show":
		return []argument{repo(), argument{name: "id", description: "A snapshot's id."}.needed()}
	case "agents_snapshots_prune":
		return with(argument{name: "keep", kind: integer, description: "How many of the newest to keep."}, argument{name: "ids", kind: texts, description: "Snapshots to forget."})
	case "agents_record":
		return with(argument{name: "event", kind: object, description: "The event."}.needed(), machine())
	case "agents_remote_set":
		return with(argument{name: "url", description: "URL of the remote."}.needed(), argument{name: "name", description: "Name of the remote (default: origin)."})
	case "agents_sync":
		return with(argument{name: "remote", description: "Remote (default: origin)."}, flag("rebase", "Rebase instead of merging."))
	case "agents_recover":
		return with(argument{name: "kind", description: "resume finishes the interrupted operation, undo takes it back", enum: []string{"resume", "undo"}}.needed())
	}
	return edit // init, lock, fetch, policy lock
}

// InputSchema is the published schema of a tool that seed 000 gives none for, made from the table: the properties sorted by name. It is written
// out by hand, because every start of the process makes all of them.
func InputSchema(of tool.Name) json.RawMessage {
	takes := argumentsOf(of)
	var required []string
	for _, a := range takes {
		if a.required {
			required = append(required, a.name)
		}
	}
	var room [2 << 10]byte // so that what is kept is as long as it has to be
	out := append(room[:0], `{"type":"object","additionalProperties":false`...)
	if len(required) > 0 {
		out = appendList(append(out, `,"required":`...), required)
	}
	out = append(out, `,"properties":{`...)
	sorting.By(takes, func(a, b argument) int { return strings.Compare(a.name, b.name) })
	for i, a := range takes {
		if i > 0 {
			out = append(out, ',')
		}
		out = a.appendProperty(out)
	}
	return bytes.Clone(append(out, '}', '}'))
}

// appendProperty appends the argument's name and schema.
func (a argument) appendProperty(out []byte) []byte {
	out = append(appendText(out, a.name), `:{"type":`...)
	out = appendText(out, [...]string{"string", "boolean", "integer", "array", "object"}[a.kind])
	switch {
	case a.kind == texts:
		out = append(out, `,"items":{"type":"string"}`...)
	case len(a.enum) > 0:
		out = appendList(append(out, `,"enum":`...), a.enum)
	}
	if a.description != "" {
		out = appendText(append(out, `,"description":`...), a.description)
	}
	return append(out, '}')
}

func appendList(out []byte, texts []string) []byte {
	out = append(out, '[')
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendText(out, text)
	}
	return append(out, ']')
}

// appendText appends text as encoding/json writes it, which itself is left to what is no plain ASCII: warming it up takes longer than all
// schemas together.
func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	start := len(out)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~':
			quoted, err := json.Marshal(text)
			if err != nil {
				return append(out[:start], '"') // text always has a JSON form
			}
			return append(out[:start-1], quoted...)
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '<' || c == '>' || c == '&':
			out = append(out, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
