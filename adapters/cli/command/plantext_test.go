package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

func TestEveryKindOfPlanIsLaidOut(t *testing.T) {
	for name, c := range map[string]struct{ plan, want string }{
		"with a context": {`{"tool":"t","summary":"s","context":{"script":"build","warnings":["careful"]}}`, "  script  build\n  ! careful"},
		"a deployment": {`{"data":{"applied":false,"changes":[{"op":"create","path":"/h/a","target":"codex","reason":"file missing","after_sha256":"00"},
			{"op":"delete","path":"/h/b","target":"codex","reason":"no longer managed"}],"profile":"default","summary":{"create":1,"delete":1,"update":0},"targets":["codex"]},"warnings":["mind the gap"]}`, `
  profile  default
  targets  codex
  changes
    | create /h/a for codex (file missing)
    | delete /h/b for codex (no longer managed)
  summary
    create  1
    delete  1
    update  0
  ! mind the gap`},
		"files with their diffs": {`{"data":{"files":[{"op":"update","path":"a","root":"/h","unified":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"},{"op":"delete","path":"b","root":"/h"}]}}`, `
  changes
    | update /h/a
    | delete /h/b
  diff
    | --- a/a
    | +++ b/a
    | @@ -1 +1 @@
    | -x
    | +y`},
		"an ecosystem": {`{"tool":"amof_discard_ecosystem","action":"discard","ecosystem":"demo","summary":"discard of demo","preview":{"branches":[{"name":"api","commit":"1a2b"}],"dirty_files":["api/a.txt"],
			"dirty_count":1,"stashes":0,"remote_untouched":true},"facts":{"x":"y"},"warnings":["1 file is not committed"],"explanation":{"what":"removes the workspace","irreversible":false,"affects":[],"alternatives":["archive"]},
			"current_state":{"a":1},"risk":{"level":"high","irreversible":false,"reasons":["work is lost"]},"execute_hint":"h","preview_hash":"sha256:00"}`, `
  ecosystem         demo
  dirty files       api/a.txt
  dirty count       1
  stashes           0
  remote untouched  yes
  what              removes the workspace
  alternatives      archive
  because           work is lost
  branches
    1. api
        commit  1a2b
  ! 1 file is not committed`},
		"arguments":   {`{"tool":"t","input":{"a":1}}`, "  input\n    a  1"},
		"no object":   {`[1]`, `[1]`},
		"no document": {"x\x1b[2Jy", "x␣U+001B[2Jy"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, strings.TrimPrefix(c.want, "\n"), command.PlanText(json.RawMessage(c.plan)))
		})
	}
}

func TestLinesOfDiffsAreTold(t *testing.T) {
	laid := "  file  /a\n  note\n    | + no diff\n  diff\n    | --- a\n    | +++ b\n    | @@ -1 +1 @@\n    |  same\n    | -old\n    | +new\n  ! careful\n    | -after"
	var got []string
	command.Tinted(laid, func(line string, tint command.Tint) { got = append(got, fmt.Sprint(uint8(tint))) })
	h, a, r, c := fmt.Sprint(uint8(command.Heading)), fmt.Sprint(uint8(command.Added)), fmt.Sprint(uint8(command.Removed)), fmt.Sprint(uint8(command.Changed))
	assert.Equal(t, []string{"0", "0", "0", "0", h, h, h, "0", r, a, c, "0"}, got)
}
