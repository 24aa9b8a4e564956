package overlay

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// MergeTrees returns tree with files over it. Both are sorted, and so is the result, which shares nothing with them.
func MergeTrees(tree, files deployment.Tree) deployment.Tree {
	out := make(deployment.Tree, 0, len(tree)+len(files))
	for len(tree) > 0 && len(files) > 0 {
		switch order := strings.Compare(tree[0].Path, files[0].Path); {
		case order < 0:
			out, tree = append(out, tree[0]), tree[1:]
		case order > 0:
			out, files = append(out, files[0]), files[1:]
		default:
			tree = tree[1:]
		}
	}
	return append(append(out, tree...), files...)
}

// TreeIndex returns the position of the file with that path in tree, or where it would be inserted.
func TreeIndex(tree deployment.Tree, path string) (i int, found bool) {
	return slices.BinarySearchFunc(tree, path, func(f deployment.File, p string) int { return strings.Compare(f.Path, p) })
}

// PathClash returns the path that is a file in tree and would also have to be a directory, because of the file at path; empty if there is none.
func PathClash(tree deployment.Tree, path string) string {
	below := path + "/"
	if i, _ := TreeIndex(tree, below); i < len(tree) && strings.HasPrefix(tree[i].Path, below) {
		return path
	}
	for i, r := range path {
		if r != '/' {
			continue
		}
		if _, ok := tree.Find(path[:i]); ok {
			return path[:i]
		}
	}
	return ""
}
