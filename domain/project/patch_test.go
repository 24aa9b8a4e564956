package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

const twoHunks = `diff --git a/a b/x.txt b/a b/x.txt
index 1111111..2222222 100644
--- a/a b/x.txt
+++ b/a b/x.txt
@@ -1,3 +1,4 @@ head
 one
+two
 three
 four
@@ -10,3 +11,3 @@
 ten
-@@ -1 +1 @@
+diff --git a/x b/x
 twelve
diff --git "a/t\303\244b\t" "b/t\303\244b\t"
new file mode 100644
index 0000000..3333333
Binary files /dev/null and "b/t\303\244b\t" differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`

func TestPatchesAreTakenApartAndPutTogetherAgain(t *testing.T) {
	files, err := project.ParsePatch(twoHunks)
	require.NoError(t, err)
	require.Len(t, files, 3)
	assert.Equal(t, []string{"modified a b/x.txt (+2 -1)", "added täb\t (binary)", "mode changed run.sh"}, []string{files[0].Line(), files[1].Line(), files[2].Line()})
	assert.Equal(t, twoHunks, files[0].Text()+files[1].Text()+files[2].Text())
	assert.True(t, files[0].Partly())
	assert.False(t, files[1].Partly())

	second := files[0].Hunks[1]
	assert.Contains(t, files[0].Only([]string{second.ID}, false).Text(), "@@ -10,3 +10,3 @@\n ten\n")
	assert.Contains(t, files[0].Only([]string{second.ID}, true).Text(), "@@ -11,3 +11,3 @@\n ten\n")
	assert.Equal(t, files[0], files[0].Only([]string{second.ID, files[0].Hunks[0].ID}, false), "all of it is the patch as it was")

	_, err = project.ParsePatch("warning: nothing\n")
	assert.ErrorIs(t, err, project.ErrExecutionFailed)
}
