package git

import (
	"strconv"
	"strings"
)

// FileDiff is the difference of one file between two trees.
type FileDiff struct {
	Status  byte   // one letter: A, D, M, R, C, T, or U for one with conflicts
	Path    string // bytes as on disk, relative to the top
	From    string // the old path of a rename or copy
	OldMode string // six octal digits; 000000 if there was no file
	NewMode string
	Added   int // lines
	Deleted int
	Binary  bool // its lines were not counted
}

// ParseDiff parses the output of git diff or diff-tree with --raw, --numstat and -z: all files, then their lines. It fails with ErrOutput.
func ParseDiff(out []byte) (files []FileDiff, err error) {
	records := SplitRecords(out)
	next := func() (record string, ok bool) {
		if len(records) > 0 {
			record, records, ok = records[0], records[1:], true
		}
		return record, ok
	}
	at := map[string]int{}
	for {
		record, ok := next()
		if !ok {
			return files, nil
		}
		if strings.HasPrefix(record, ":") {
			f := FileDiff{}
			fields := strings.Fields(record)
			if len(fields) != 5 || fields[4] == "" {
				return nil, unexpected("differences", record)
			}
			f.OldMode, f.NewMode, f.Status = fields[0][1:], fields[1], fields[4][0]
			if f.Status == 'R' || f.Status == 'C' {
				f.From, _ = next()
			}
			if f.Path, ok = next(); !ok {
				return nil, unexpected("differences", record)
			}
			if i, known := at[f.Path]; known { // with conflicts, git lists a file twice
				files[i].NewMode = f.NewMode
				continue
			}
			at[f.Path] = len(files)
			files = append(files, f)
			continue
		}
		added, rest, one := strings.Cut(record, "\t")
		deleted, path, two := strings.Cut(rest, "\t")
		if !one || !two {
			return nil, unexpected("counted lines", record)
		}
		if path == "" { // of a rename: from, then to
			_, _ = next()
			if path, ok = next(); !ok {
				return nil, unexpected("counted lines", record)
			}
		}
		i, known := at[path]
		if !known {
			return nil, unexpected("counted lines", record)
		}
		if added == "-" {
			files[i].Binary = true
			continue
		}
		var wrong error
		if files[i].Added, wrong = strconv.Atoi(added); wrong == nil {
			files[i].Deleted, wrong = strconv.Atoi(deleted)
		}
		if wrong != nil {
			return nil, unexpected("counted lines", record)
		}
	}
}

// Conflict is what prevents two trees from being merged, in one file or in several.
type Conflict struct {
	Kind  string // "contents", "modify/delete", "rename/rename", …
	Paths []string
}

// MergedTree is the output of git merge-tree.
type MergedTree struct {
	Tree      string // contains conflict markers if there are conflicts
	Files     []string
	Conflicts []Conflict
}

// ParseMergeTree parses the output of git merge-tree --write-tree with --name-only, --messages and -z. It fails with ErrOutput.
func ParseMergeTree(out []byte) (m MergedTree, err error) {
	records := strings.Split(string(out), "\x00")
	if m.Tree = records[0]; len(m.Tree) < 40 || strings.Trim(m.Tree, "0123456789abcdef") != "" {
		return MergedTree{}, unexpected("a merged tree", m.Tree)
	}
	records = records[1:]
	for len(records) > 0 && records[0] != "" {
		m.Files, records = append(m.Files, records[0]), records[1:]
	}
	if len(records) > 0 {
		records = records[1:] // the empty record between files and messages
	}
	for len(records) > 1 {
		n, wrong := strconv.Atoi(records[0])
		if wrong != nil || n < 0 || len(records) < n+3 {
			return MergedTree{}, unexpected("a merge's messages", records[0])
		}
		paths, kind := records[1:1+n], records[1+n]
		if kind, ok := strings.CutPrefix(kind, "CONFLICT ("); ok {
			m.Conflicts = append(m.Conflicts, Conflict{strings.TrimSuffix(kind, ")"), paths})
		}
		records = records[3+n:]
	}
	return m, nil
}
