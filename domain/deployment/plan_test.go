package deployment_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
)

const root = "/w/codex"

func content(text string) deployment.Content { return deployment.ContentOf([]byte(text)) }

func sum(text string) deployment.Sum { return deployment.SumOf([]byte(text)) }

func desired(name, text string) deployment.Desired {
	return deployment.Desired{Target: "codex", Root: root, Path: root + "/" + name, Mode: deployment.PlainMode, Content: content(text), Modules: []string{"skill:" + name}}
}

func owned(name, text string) deployment.Owned {
	return deployment.Owned{Target: "codex", Root: root, Path: root + "/" + name, Sum: sum(text), Mode: deployment.PlainMode, Modules: []string{"skill:" + name}}
}

func file(text string) deployment.Seen {
	return deployment.Seen{Kind: deployment.Regular, Sum: sum(text), Size: int64(len(text)), Mode: 0o644}
}

func make1(t *testing.T, files []deployment.Desired, have []deployment.Owned, seen map[string]deployment.Seen) deployment.Plan {
	t.Helper()
	r := deployment.Root{Target: "codex", Path: root}
	p, err := deployment.NewPlan(deployment.Wanted{Profile: "default", Targets: []string{"codex"}, Roots: []deployment.Root{r}, Files: files},
		deployment.Observed{Ledgers: []deployment.OwnershipManifest{{Root: r, Present: len(have) > 0, Owned: have}}, Files: seen})
	require.NoError(t, err)
	return p
}

// TestEveryWayAFileCanDiffer covers what can be wanted, owned and on disk.
func TestEveryWayAFileCanDiffer(t *testing.T) {
	const path = root + "/a"
	link := file("new")
	link.Kind, link.Link = deployment.Link, "elsewhere"
	executable := desired("a", "new")
	executable.Mode = deployment.ExecutableMode
	for name, c := range map[string]struct {
		want *deployment.Desired
		have string // what was deployed; empty is nothing
		now  *deployment.Seen
		op   deployment.Op
		gate deployment.Gate
		says string
	}{
		"create":                         {want: new(desired("a", "new")), op: deployment.OpCreate, says: "file missing"},
		"create again":                   {want: new(desired("a", "new")), have: "new", op: deployment.OpCreate, says: "file missing"},
		"nothing":                        {want: new(desired("a", "new")), have: "new", now: new(file("new"))},
		"the same, unmanaged":            {want: new(desired("a", "new")), now: new(file("new"))},
		"the same by a link":             {want: new(desired("a", "new")), now: &link},
		"update":                         {want: new(desired("a", "new")), have: "old", now: new(file("old")), op: deployment.OpUpdate, gate: deployment.ManagedUpdate, says: "content differs"},
		"adopt":                          {want: new(desired("a", "new")), now: new(file("mine")), op: deployment.OpUpdate, gate: deployment.AdoptUpdate, says: "would overwrite unmanaged existing file"},
		"drift":                          {want: new(desired("a", "new")), have: "old", now: new(file("mine")), op: deployment.OpUpdate, gate: deployment.DriftedUpdate, says: "edited"},
		"drift while nothing is new":     {want: new(desired("a", "new")), have: "new", now: new(file("mine")), op: deployment.OpUpdate, gate: deployment.DriftedUpdate, says: "edited"},
		"drift to what is wanted":        {want: new(desired("a", "new")), have: "old", now: new(file("new"))},
		"executable":                     {want: &executable, have: "new", now: new(file("new")), op: deployment.OpUpdate, gate: deployment.ManagedUpdate, says: "mode"},
		"delete":                         {have: "old", now: new(file("old")), op: deployment.OpDelete, says: "no longer managed"},
		"delete what was edited":         {have: "old", now: new(file("mine")), op: deployment.OpDelete, gate: deployment.DriftedDelete, says: "edited"},
		"delete what became a link":      {have: "new", now: &link, op: deployment.OpDelete, gate: deployment.DriftedDelete, says: "edited"},
		"nothing to delete any more":     {have: "old"},
		"a directory in place of a file": {have: "old", now: &deployment.Seen{Kind: deployment.Directory}},
	} {
		t.Run(name, func(t *testing.T) {
			var files []deployment.Desired
			var have []deployment.Owned
			seen := map[string]deployment.Seen{}
			if c.want != nil {
				files = append(files, *c.want)
			}
			if c.have != "" {
				have = append(have, owned("a", c.have))
			}
			if c.now != nil {
				seen[path] = *c.now
			}
			p := make1(t, files, have, seen)
			if c.op == "" {
				assert.Empty(t, p.Changes)
				return
			}
			require.Len(t, p.Changes, 1)
			assert.Equal(t, c.op, p.Changes[0].Op)
			assert.Equal(t, c.gate, p.Changes[0].Gate)
			assert.Contains(t, p.Changes[0].Reason, c.says)
			assert.Equal(t, c.gate == deployment.AdoptUpdate || c.gate == deployment.DriftedUpdate || c.gate == deployment.DriftedDelete, len(p.Adoptions()) == 1)
		})
	}
}

// TestALinkThatGoesIsShown: a plan shows the target of a symbolic link that a file replaces, and it is part of what is approved.
func TestALinkThatGoesIsShown(t *testing.T) {
	link := deployment.Seen{Kind: deployment.Link, Sum: sum("mine"), Link: "/elsewhere/a"}
	p := make1(t, []deployment.Desired{desired("a", "new")}, nil, map[string]deployment.Seen{root + "/a": link})
	text, err := json.Marshal(p.Changes[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"before_link":"/elsewhere/a"`)
	var back deployment.Change
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, deployment.Link, back.Before.Kind)
	link.Link = "/elsewhere/b"
	other := make1(t, []deployment.Desired{desired("a", "new")}, nil, map[string]deployment.Seen{root + "/a": link})
	assert.NotEqual(t, p.Hash(), other.Hash())
}

// TestWhatAdoptingReplacesIsNamed: a file that no deployment wrote and that differs from a module is reported with the module; a file that differs
// only in its mode, or that a deployment wrote, is not.
func TestWhatAdoptingReplacesIsNamed(t *testing.T) {
	want := desired("a", "new")
	want.Modules = []string{"command:a"}
	says := func(have []deployment.Owned, now deployment.Seen) string {
		p := make1(t, []deployment.Desired{want}, have, map[string]deployment.Seen{root + "/a": now})
		text, err := json.Marshal(p.Changes[0])
		require.NoError(t, err)
		return string(text)
	}
	assert.Contains(t, says(nil, file("mine")), `"differs_from":["command:a"]`)
	assert.NotContains(t, says([]deployment.Owned{owned("a", "old")}, file("mine")), "differs_from")
	executable := file("new")
	executable.Mode = 0o755
	assert.NotContains(t, says(nil, executable), "differs_from")
}

// TestAFileOfTwoTargetsIsOne: it is counted, and named, once.
func TestAFileOfTwoTargetsIsOne(t *testing.T) {
	both := deployment.Plan{Changes: []deployment.Change{{Target: "a", Op: deployment.OpUpdate, Path: "/y"}, {Target: "b", Op: deployment.OpUpdate, Path: "/y"}, {Target: "b", Op: deployment.OpCreate, Path: "/x"}}}
	assert.Equal(t, deployment.Summary{Create: 1, Update: 1}, both.Files())
	assert.Equal(t, deployment.Summary{Create: 1, Update: 2}, both.Summary())
	assert.Equal(t, []string{"/x", "/y"}, deployment.PathsOf(both.Changes))
}

// TestLinksAreNamedOnce: of directories below a link, only those that are links themselves are named.
func TestLinksAreNamedOnce(t *testing.T) {
	ways := deployment.NewResolvedDirs()
	ways.Add("/h/.claude", "/dot/claude")
	ways.Add("/h/.claude/commands", "/dot/claude/commands")
	ways.Add("/h/.claude/skills", "/shared/skills")
	require.Len(t, ways.Warnings(), 1)
	assert.True(t, strings.HasSuffix(ways.Warnings()[0], "link targets: /h/.claude → /dot/claude, /h/.claude/skills → /shared/skills"), ways.Warnings()[0])
	assert.Len(t, ways.Pairs(), 3, "all of them are part of the plan")
}

func TestADirectoryInTheWayStopsThePlan(t *testing.T) {
	for _, kind := range []deployment.FileKind{deployment.Directory, deployment.Special} {
		_, err := deployment.NewPlan(deployment.Wanted{Files: []deployment.Desired{desired("a", "x")}}, deployment.Observed{Files: map[string]deployment.Seen{root + "/a": {Kind: kind}}})
		require.ErrorIs(t, err, deployment.ErrPath)
		assert.Contains(t, err.Error(), root+"/a")
	}
}

// TestOnlyOwnEntriesAreDeleted: a file that another owner, another target or a wanted file of another target has is left alone.
func TestOnlyOwnEntriesAreDeleted(t *testing.T) {
	r, other := deployment.Root{Target: "codex", Path: root}, deployment.Root{Target: "opencode", Path: root}
	operator := owned("operator", "o")
	operator.Owner = deployment.OwnerBootstrap
	kept := owned("kept", "k")
	wantedByOther := desired("kept", "k")
	wantedByOther.Target = "opencode"
	p, err := deployment.NewPlan(deployment.Wanted{Roots: []deployment.Root{r, other}, Files: []deployment.Desired{wantedByOther}}, deployment.Observed{
		Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: []deployment.Owned{operator, kept}}, {Root: other, Present: true}},
		Files:   map[string]deployment.Seen{root + "/operator": file("o"), root + "/kept": file("k")},
	})
	require.NoError(t, err)
	assert.Empty(t, p.Changes)
	for _, f := range p.Owned {
		assert.NotEqual(t, "codex", f.Target, "what codex no longer wants is no longer its")
	}
	assert.True(t, p.Stale, "manifests change")
}

// TestATargetThatIsNotAskedForKeepsItsFiles: files of another target in the same directory stay, although it is not planned for.
func TestATargetThatIsNotAskedForKeepsItsFiles(t *testing.T) {
	r, other := deployment.Root{Target: "codex", Path: root}, deployment.Root{Target: "opencode", Path: root}
	theirs := owned("shared", "s")
	theirs.Target = "opencode"
	p, err := deployment.NewPlan(deployment.Wanted{Roots: []deployment.Root{r}}, deployment.Observed{
		Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: []deployment.Owned{owned("shared", "s")}}, {Root: other, Present: true, Owned: []deployment.Owned{theirs}}},
		Files:   map[string]deployment.Seen{root + "/shared": file("s")},
	})
	require.NoError(t, err)
	assert.Empty(t, p.Changes)
	assert.Empty(t, p.Owned, "codex lets go of it, and says nothing of opencode")
}

// TestWhatAllLetGoOfGoes: a file of two targets is deleted when both release it in one plan, and its original is restored.
func TestWhatAllLetGoOfGoes(t *testing.T) {
	r, other := deployment.Root{Target: "codex", Path: root}, deployment.Root{Target: "opencode", Path: root}
	theirs := owned("shared", "s")
	theirs.Target = "opencode"
	o := deployment.Observed{
		Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: []deployment.Owned{owned("shared", "s")}}, {Root: other, Present: true, Owned: []deployment.Owned{theirs}}},
		Files:   map[string]deployment.Seen{root + "/shared": file("s")},
	}
	p, err := deployment.NewPlan(deployment.Wanted{Roots: []deployment.Root{r, other}}, o)
	require.NoError(t, err)
	require.Len(t, p.Changes, 2)
	assert.Equal(t, deployment.OpDelete, p.Changes[0].Op)
	assert.Len(t, p.Transaction(deployment.Locations{}, deployment.KindDeploy, deployment.Sum{}).Writes, 1, "one file is written once")
	back := p.Restore([]deployment.Original{{Path: root + "/shared", Seen: file("mine"), Snapshot: "1"}}, deployment.InitialSnapshot, o)
	for _, c := range back.Changes {
		assert.Equal(t, sum("mine"), c.After.Sum)
	}
}

func TestPartsOfFiles(t *testing.T) {
	part := &deployment.Part{Format: deployment.FormatMarkdown, Block: "ours"}
	for name, c := range map[string]struct {
		managed       string // what the part was when it was written; empty: it did not exist
		now, ours     string // of the part
		merged, there string // of the file
		remove        bool
		op            deployment.Op
		gate          deployment.Gate
	}{
		"into a new file":              {ours: "new", merged: "new", op: deployment.OpCreate},
		"into a user's file":           {ours: "new", merged: "mine new", there: "mine", op: deployment.OpUpdate, gate: deployment.MergeUpdate},
		"over a user's own key":        {now: "his", ours: "new", merged: "new", there: "his", op: deployment.OpUpdate, gate: deployment.AdoptUpdate},
		"update":                       {managed: "old", now: "old", ours: "new", merged: "mine new", there: "mine old", op: deployment.OpUpdate, gate: deployment.ManagedUpdate},
		"update of what was edited":    {managed: "old", now: "his", ours: "new", merged: "mine new", there: "mine his", op: deployment.OpUpdate, gate: deployment.DriftedUpdate},
		"back in":                      {managed: "old", ours: "old", merged: "mine old", there: "mine", op: deployment.OpUpdate, gate: deployment.MergeUpdate},
		"nothing":                      {managed: "old", now: "old", ours: "old", merged: "mine old", there: "mine old"},
		"taken out":                    {managed: "old", now: "old", merged: "mine", there: "mine old", op: deployment.OpUpdate, gate: deployment.ManagedUpdate},
		"taken out though edited":      {managed: "old", now: "his", merged: "mine", there: "mine his", op: deployment.OpUpdate, gate: deployment.DriftedUpdate},
		"taken out with the file":      {managed: "old", now: "old", merged: "", there: "old", remove: true, op: deployment.OpDelete},
		"taken out of nothing":         {managed: "old"},
		"taken out with an edited one": {managed: "old", now: "his", merged: "", there: "his", remove: true, op: deployment.OpDelete, gate: deployment.DriftedDelete},
	} {
		t.Run(name, func(t *testing.T) {
			d := desired("config", c.merged)
			d.Part = part
			d.Merge.Remove = c.remove
			if c.ours != "" {
				d.Merge.Ours = sum(c.ours)
			}
			if c.now != "" {
				d.Merge.Now = sum(c.now)
			}
			var have []deployment.Owned
			if c.managed != "" {
				o := owned("config", c.there)
				o.Part, o.PartSum = part, sum(c.managed)
				have = append(have, o)
			}
			seen := map[string]deployment.Seen{}
			if c.there != "" {
				seen[d.Path] = file(c.there)
			}
			p := make1(t, []deployment.Desired{d}, have, seen)
			if c.op == "" {
				assert.Empty(t, p.Changes)
				return
			}
			require.Len(t, p.Changes, 1)
			assert.Equal(t, c.op, p.Changes[0].Op)
			assert.Equal(t, c.gate, p.Changes[0].Gate)
			assert.Equal(t, c.ours != "", len(p.Owned) == 1)
		})
	}
}

// TestTheContractsForm checks a plan change against the contract's sample.
func TestTheContractsForm(t *testing.T) {
	p := make1(t, []deployment.Desired{desired("AGENTS.md", "v1\n")}, nil, nil)
	text, err := json.Marshal(p.Changes)
	require.NoError(t, err)
	assert.Equal(t, `[{"after_sha256":"2d27fbdf4e8ca207afbfa388ca9172fbcc6c70e534af2476b3b704f87debadcf","before_sha256":null,"op":"create",`+
		`"path":"/w/codex/AGENTS.md","path_posix":"/w/codex/AGENTS.md","reason":"file missing","target":"codex"}]`, string(text))
	p = make1(t, []deployment.Desired{desired("AGENTS.md", "v1\n")}, nil, map[string]deployment.Seen{root + "/AGENTS.md": file("v0\n")})
	text, err = json.Marshal(p.Changes[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"update_kind":"adopt_update"`)
}

// TestTheFormIsCanonical: the hand-written form of a change is its canonical JSON.
func TestTheFormIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := deployment.Change{Target: rapid.String().Draw(t, "target"), Path: rapid.String().Draw(t, "path"), Reason: rapid.String().Draw(t, "reason"),
			Op: rapid.SampledFrom([]deployment.Op{deployment.OpCreate, deployment.OpUpdate, deployment.OpDelete}).Draw(t, "op"), Mode: rapid.SampledFrom([]fs.FileMode{0o644, 0o755}).Draw(t, "mode"),
			Gate: rapid.SampledFrom([]deployment.Gate{"", deployment.AdoptUpdate, deployment.DriftedDelete}).Draw(t, "gate"), After: content("x")}
		text, err := c.MarshalJSON()
		require.NoError(t, err)
		canonical, err := canon.Canonical(text)
		require.NoError(t, err)
		assert.Equal(t, string(canonical), string(text))
	})
}

// TestTheHashIsOverWhatIsShown: everything that a user sees of a plan, and what it was made for, is in its hash; adopt is not.
func TestTheHashIsOverWhatIsShown(t *testing.T) {
	base := func() deployment.Plan {
		return deployment.Plan{Binding: deployment.Binding{Repo: "/r", Home: "/h"}, Profile: "default", Targets: []string{"codex"},
			Changes: []deployment.Change{{Target: "codex", Op: deployment.OpCreate, Path: "/a", After: content("x"), Mode: 0o644}}}
	}
	seen := map[canon.Hash]string{base().Hash(): "nothing"}
	for name, change := range map[string]func(*deployment.Plan){
		"profile":      func(p *deployment.Plan) { p.Profile = "work" },
		"targets":      func(p *deployment.Plan) { p.Targets = []string{"cursor"} },
		"repo":         func(p *deployment.Plan) { p.Binding.Repo = "/other" },
		"home":         func(p *deployment.Plan) { p.Binding.Home = "/other" },
		"user home":    func(p *deployment.Plan) { p.Binding.UserHome = "/other" },
		"machine":      func(p *deployment.Plan) { p.Binding.Machine = "m2" },
		"project root": func(p *deployment.Plan) { p.Binding.ProjectRoot = "/p" },
		"content":      func(p *deployment.Plan) { p.Changes[0].After = content("y") },
		"what is there": func(p *deployment.Plan) {
			p.Changes[0].Before = file("old")
		},
		"path":       func(p *deployment.Plan) { p.Changes[0].Path = "/b" },
		"op":         func(p *deployment.Plan) { p.Changes[0].Op = deployment.OpDelete },
		"mode":       func(p *deployment.Plan) { p.Changes[0].Mode = 0o755 },
		"other mode": func(p *deployment.Plan) { p.Changes[0].Mode = 0o600 },
		"link":       func(p *deployment.Plan) { p.Changes[0].Link = "/elsewhere" },
		"other link": func(p *deployment.Plan) { p.Changes[0].Link = "/nowhere" },
		"owner":      func(p *deployment.Plan) { p.Owner = deployment.OwnerBootstrap },
		"more":       func(p *deployment.Plan) { p.Changes = append(p.Changes, p.Changes[0]) },
	} {
		p := base()
		change(&p)
		other, taken := seen[p.Hash()]
		assert.False(t, taken, "%s hashes like %s", name, other)
		seen[p.Hash()] = name
	}
	assert.Equal(t, base().Hash(), base().Hash())
}

// TestAPlanCarriedOutLeavesNothingToDo is the model: after a plan is applied, the next plan is empty, for any initial state.
func TestAPlanCarriedOutLeavesNothingToDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "b", "c"})
		names := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 6, rapid.ID[int])
		var files []deployment.Desired
		for _, n := range names.Draw(t, "wanted") {
			files = append(files, desired(fmt.Sprint("f", n), text.Draw(t, "content")))
		}
		var have []deployment.Owned
		for _, n := range names.Draw(t, "owned") {
			have = append(have, owned(fmt.Sprint("f", n), text.Draw(t, "deployed")))
		}
		disk := map[string]deployment.Seen{}
		for _, n := range names.Draw(t, "there") {
			disk[fmt.Sprint(root, "/f", n)] = file(text.Draw(t, "now"))
		}
		foreign := map[string]deployment.Seen{}
		for path, seen := range disk {
			foreign[path] = seen
		}
		r := deployment.Root{Target: "codex", Path: root}
		w := deployment.Wanted{Targets: []string{"codex"}, Roots: []deployment.Root{r}, Files: files}
		p, err := deployment.NewPlan(w, deployment.Observed{Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: have}}, Files: disk})
		require.NoError(t, err)
		for _, f := range append(have, p.Owned...) {
			delete(foreign, f.Path)
		}
		for _, write := range p.Transaction(deployment.Locations{}, deployment.KindDeploy, deployment.Sum{}).Writes {
			assert.Equal(t, disk[write.Path], write.Before)
			assert.NotContains(t, foreign, write.Path, "nobody else's file is touched")
			if delete(disk, write.Path); write.After.Kind != deployment.Absent {
				disk[write.Path] = write.After
			}
		}
		again, err := deployment.NewPlan(w, deployment.Observed{Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: p.Owned}}, Files: disk})
		require.NoError(t, err)
		assert.True(t, again.Empty(), "%+v", again.Changes)
	})
}

func TestTheDeepestRootIsTheBest(t *testing.T) {
	roots := []deployment.Root{{Target: "vscode", Path: "/p/.github"}, {Target: "vscode", Path: "/p/.github/prompts"}, {Target: "zed", Path: "/p"}}
	for path, want := range map[string]string{"/p/.github/x": "/p/.github", "/p/.github/prompts/a.md": "/p/.github/prompts", "/p/.github/promptsx": "/p/.github"} {
		r, ok := deployment.BestRoot(roots, "vscode", path, '/')
		require.True(t, ok)
		assert.Equal(t, want, r.Path, path)
	}
	_, ok := deployment.BestRoot(roots, "vscode", "/p/other", '/')
	assert.False(t, ok)
	assert.True(t, deployment.IsBelow("/", "/x", '/'))
	assert.False(t, deployment.IsBelow("/a", "/ab", '/'))
}

func TestGoingBackPutsOriginalsBack(t *testing.T) {
	r := deployment.Root{Target: "codex", Path: root}
	mine := deployment.Original{Path: root + "/adopted", Seen: file("mine"), Snapshot: "20"}
	gone := deployment.Original{Path: root + "/gone", Seen: file("gone"), Snapshot: "20"}
	early := deployment.Original{Path: root + "/early", Seen: file("early"), Snapshot: "5"}
	have := []deployment.Owned{owned("adopted", "theirs"), owned("made", "x"), owned("early", "y")}
	disk := map[string]deployment.Seen{root + "/adopted": file("theirs"), root + "/made": file("x"), root + "/early": file("y")}
	o := deployment.Observed{Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: have}}, Files: disk}
	for since, want := range map[string]map[string]string{
		"10":                       {"adopted": "update original restored", "made": "delete no longer managed", "early": "delete no longer managed", "gone": "create original restored"},
		deployment.InitialSnapshot: {"adopted": "update original restored", "made": "delete no longer managed", "early": "update original restored", "gone": "create original restored"},
		"30":                       {"adopted": "delete no longer managed", "made": "delete no longer managed", "early": "delete no longer managed"},
	} {
		p, err := deployment.NewPlan(deployment.Wanted{Roots: []deployment.Root{r}}, o)
		require.NoError(t, err)
		got := map[string]string{}
		for _, c := range p.Restore([]deployment.Original{mine, gone, early}, since, o).Changes {
			got[c.Path[len(root)+1:]] = string(c.Op) + " " + c.Reason
		}
		assert.Equal(t, want, got, since)
	}
}

func TestSnapshotsAreOrderedByNumber(t *testing.T) {
	assert.True(t, deployment.LaterSnapshot("10", "9"))
	assert.False(t, deployment.LaterSnapshot("9", "10"))
	assert.True(t, deployment.LaterSnapshot("b", "a"))
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		p := deployment.Plan{Targets: []string{"codex"}}
		for i := range n {
			p.Changes = append(p.Changes, deployment.Change{Target: "codex", Op: deployment.OpCreate, Path: fmt.Sprint(root, "/skills/s/", i), After: content(fmt.Sprint(i)), Mode: 0o644, Reason: "file missing"})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p.Hash()
			}
		})
	}
}
