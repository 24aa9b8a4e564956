package shellcmd

// BuiltinTemplates returns the templates that come with Countersign, by category (packageflow contract §1.5). The caller owns the copy.
func BuiltinTemplates() []Template {
	var out []Template
	for _, group := range []struct {
		of   Category
		rows []row
	}{
		{CategoryPackageManager, packageManagerRows()},
		{CategoryGit, gitRows()},
		{CategoryDocker, dockerRows()},
		{CategoryShell, shellRows()},
		{CategoryTesting, testingRows()},
		{CategoryCodeQuality, codeQualityRows()},
		{CategoryKubernetes, kubernetesRows()},
		{CategoryDatabase, databaseRows()},
		{CategoryCloud, cloudRows()},
		{CategoryAI, aiRows()},
		{CategorySecurity, securityRows()},
		{CategoryNodeJS, nodeJSRows()},
	} {
		for _, r := range group.rows {
			out = append(out, Template{ID: r.id, Name: r.name, Command: r.command, Category: group.of, Description: r.description, Risk: r.risk})
		}
	}
	return out
}

type row struct {
	id, name    string
	risk        Risk
	command     string
	description string
}

func packageManagerRows() []row {
	return []row{
		{"pm-install", "Install dependencies", RiskMedium, "{pm} install", "Installs what package.json and the lockfile ask for"},
		{"pm-build", "Build", RiskMedium, "{pm} run build", "Runs the project's build script"},
		{"pm-test", "Test", RiskMedium, "{pm} test", "Runs the project's test script"},
		{"pm-dev", "Development server", RiskMedium, "{pm} run dev", "Runs the project's dev script until it is stopped"},
		{"pm-clean-install", "Install from scratch", RiskMedium, "rm -rf node_modules && {pm} install", "Deletes node_modules, then installs again"},
		{"pm-full-reset", "Forget lockfiles and install", RiskMedium, "rm -rf node_modules package-lock.json pnpm-lock.yaml yarn.lock && {pm} install", "Deletes node_modules and every lockfile: versions may change"},
		{"pm-audit-fix", "Fix known vulnerabilities", RiskMedium, "{pm} audit fix", "Updates dependencies that have advisories, where the manager can"},
		{"pm-why", "Why is it installed", RiskLow, "{pm} why <package-name>", "Shows what depends on a package"},
		{"pm-link", "Link a local package", RiskMedium, "{pm} link <path>", "Uses a package from a directory instead of the registry"},
		{"pm-dedupe", "Deduplicate", RiskMedium, "{pm} dedupe", "Merges versions of a package where one fits all"},
	}
}

func gitRows() []row {
	return []row{
		{"git-status", "Status", RiskLow, "git status", "Shows what has changed"},
		{"git-add-all", "Stage everything", RiskMedium, "git add .", "Stages every change below this directory"},
		{"git-commit", "Commit", RiskMedium, `git commit -m "Update"`, "Commits what is staged"},
		{"git-push", "Push", RiskMedium, "git push", "Sends commits to the remote"},
		{"git-pull", "Pull", RiskMedium, "git pull", "Fetches and merges the remote branch"},
		{"git-amend-no-edit", "Amend, same message", RiskMedium, "git commit --amend --no-edit", "Adds what is staged to the last commit"},
		{"git-undo-commit", "Take back the last commit", RiskMedium, "git reset --soft HEAD~1", "Its changes stay staged"},
		{"git-stash-named", "Stash under a name", RiskMedium, `git stash push -m "<name>"`, "Puts changes aside so that they can be found again"},
		{"git-stash-list", "List stashes", RiskLow, "git stash list", "Shows what has been put aside"},
		{"git-clean-untracked", "Delete untracked files", RiskHigh, "git clean -fd", "Deletes files and directories that git does not know, for good"},
		{"git-log-pretty", "History as a graph", RiskLow, "git log --oneline --graph --decorate -20", "The last 20 commits, one a line"},
		{"git-cherry-pick", "Cherry-pick", RiskMedium, "git cherry-pick <hash>", "Applies one commit to this branch"},
		{"git-reflog", "Reflog", RiskLow, "git reflog -20", "Where HEAD has been: the way back to lost commits"},
		{"git-branch-cleanup", "Delete merged branches", RiskMedium, `git branch --merged | grep -vE '^\*|^\+|^ *(main|master)$' | xargs -n 1 git branch -d`, "Deletes local branches that are merged, except main and master"},
		{"git-fetch-prune", "Fetch and prune", RiskMedium, "git fetch --prune", "Forgets remote branches that are gone"},
		{"git-bisect-start", "Begin a bisection", RiskMedium, "git bisect start && git bisect bad && git bisect good <good-commit>", "Looks for the commit that broke it, between a good one and now"},
		{"git-worktree-add", "Add a worktree", RiskMedium, "git worktree add ../<name> <branch>", "Checks a branch out beside the project"},
		{"git-worktree-list", "List worktrees", RiskLow, "git worktree list", "Shows where branches are checked out"},
		{"git-submodule-update", "Update submodules", RiskMedium, "git submodule update --init --recursive", "Checks out the commits that are recorded"},
		{"git-rebase-interactive", "Fold in fixups", RiskMedium, "GIT_SEQUENCE_EDITOR=: git rebase -i --autosquash HEAD~<n>", "Rebases fixup! and squash! commits into those they belong to, asking nothing"},
	}
}

func dockerRows() []row {
	return []row{
		{"docker-build", "Build an image", RiskMedium, "docker build -t <image>:<tag> .", "Builds from the Dockerfile in this directory"},
		{"docker-run-it", "Run once", RiskMedium, "docker run --rm <image> <command>", "Runs a command in a new container that is removed afterwards"},
		{"docker-run-port", "Run with a port", RiskMedium, "docker run -d -p 3000:3000 <image>", "Starts a container in the background, port 3000 open"},
		{"docker-compose-up", "Compose up", RiskMedium, "docker compose up -d", "Starts every service in the background"},
		{"docker-compose-down", "Compose down with volumes", RiskHigh, "docker compose down -v", "Stops every service and deletes its volumes, data included"},
		{"docker-compose-logs", "Compose logs", RiskLow, "docker compose logs -f --tail=100", "Follows the services' output until it is stopped"},
		{"docker-exec", "Run in a container", RiskMedium, "docker exec <container> <command>", "Runs a command in a container that is up"},
		{"docker-logs", "Logs of a container", RiskLow, "docker logs -f --tail=100 <container>", "Follows a container's output until it is stopped"},
		{"docker-prune-all", "Prune everything", RiskHigh, "docker system prune -af --volumes", "Deletes all that is not in use: containers, images, volumes, of every project"},
		{"docker-stop-all", "Stop all containers", RiskMedium, "docker ps -q | xargs -r docker stop", "Stops every container on this machine"},
		{"docker-rm-all", "Remove stopped containers", RiskMedium, "docker ps -aq -f status=exited | xargs -r docker rm", "Removes every container that has ended"},
		{"docker-rmi-dangling", "Remove dangling images", RiskMedium, "docker images -q -f dangling=true | xargs -r docker rmi", "Removes images that no tag names"},
		{"docker-buildx-multi", "Build for two platforms and push", RiskMedium, "docker buildx build --platform linux/amd64,linux/arm64 -t <image>:<tag> --push .", "Builds for amd64 and arm64, and pushes"},
		{"docker-push", "Push an image", RiskMedium, "docker push <image>:<tag>", "Sends an image to its registry"},
		{"docker-tag", "Tag an image", RiskMedium, "docker tag <image>:<tag> <registry>/<image>:<tag>", "Gives an image the name it has in a registry"},
		{"docker-save", "Save an image", RiskMedium, "docker save -o <file>.tar <image>:<tag>", "Writes an image to a file"},
		{"docker-load", "Load an image", RiskMedium, "docker load -i <file>.tar", "Reads an image from a file"},
	}
}

func shellRows() []row {
	return []row{
		{"shell-echo", "Say something", RiskLow, `echo "Hello World"`, "Prints a text"},
		{"shell-sleep", "Wait", RiskLow, "sleep 5", "Waits five seconds"},
		{"shell-env", "Environment", RiskLow, "env", "Prints what the step's environment is"},
		{"shell-kill-port", "Free a port", RiskMedium, "lsof -ti:<port> | xargs kill -9", "Kills whatever listens on a port"},
		{"shell-ports", "Open ports", RiskLow, "lsof -i -P -n | grep LISTEN", "Shows what listens on which port"},
		{"shell-find-large", "Large files", RiskLow, "find . -type f -size +100M -exec ls -lh {} +", "Files of more than 100 MB"},
		{"shell-disk-usage", "Disk usage", RiskLow, "du -ah . | sort -rh | head -20", "The 20 largest files and directories"},
		{"shell-delete-node-modules", "Delete every node_modules", RiskMedium, "find . -name node_modules -type d -prune -exec rm -rf {} +", "Deletes node_modules here and below"},
		{"shell-delete-ds-store", "Delete .DS_Store files", RiskMedium, "find . -name .DS_Store -type f -delete", "Deletes what Finder leaves behind"},
		{"shell-env-from-example", "Make .env", RiskMedium, "cp .env.example .env", "Copies the example; a .env that is there is replaced"},
		{"shell-watch-files", "Watch files", RiskMedium, "fswatch -o <path> | xargs -n 1 <command>", "Runs a command whenever files change"},
		{"shell-tar-create", "Pack", RiskMedium, "tar -czf <archive>.tar.gz <directory>", "Packs a directory"},
		{"shell-tar-extract", "Unpack", RiskMedium, "tar -xzf <archive>.tar.gz", "Unpacks an archive here"},
		{"cargo-build", "Cargo build", RiskMedium, "cargo build", "Builds a Rust project"},
	}
}

func testingRows() []row {
	return []row{
		{"test-coverage", "Coverage", RiskMedium, "{pm} test -- --coverage", "Runs the tests and measures what they cover"},
		{"test-update-snapshot", "Update snapshots", RiskMedium, "{pm} test -- -u", "Writes snapshots anew: read them before you commit"},
		{"test-watch", "Watch tests", RiskMedium, "{pm} test -- --watch", "Runs tests again on every change, until it is stopped"},
		{"test-single", "One test file", RiskMedium, "{pm} test -- <test-file>", "Runs the tests of one file"},
		{"test-e2e", "End-to-end tests", RiskMedium, "{pm} run test:e2e", "Runs the project's test:e2e script"},
		{"test-ci", "Tests as in CI", RiskMedium, "{pm} test -- --ci --runInBand", "Runs tests one after another, writing no snapshots"},
		{"test-playwright", "Playwright", RiskMedium, "npx playwright test", "Runs browser tests"},
		{"test-playwright-ui", "Playwright UI", RiskMedium, "npx playwright test --ui", "Opens Playwright's window"},
		{"test-cypress", "Cypress", RiskMedium, "npx cypress run", "Runs Cypress without a window"},
		{"test-cypress-open", "Cypress window", RiskMedium, "npx cypress open", "Opens Cypress's window"},
		{"test-vitest", "Vitest", RiskMedium, "npx vitest run", "Runs Vitest once"},
		{"cargo-test", "Cargo test", RiskMedium, "cargo test", "Tests a Rust project"},
	}
}

func codeQualityRows() []row {
	return []row{
		{"lint", "Lint", RiskMedium, "{pm} run lint", "Runs the project's lint script"},
		{"format", "Format", RiskMedium, "{pm} run format", "Runs the project's format script"},
		{"quality-lint-fix", "Lint and fix", RiskMedium, "{pm} run lint -- --fix", "Corrects what the linter can correct"},
		{"quality-typecheck", "Check types", RiskMedium, "npx tsc --noEmit", "Checks TypeScript types, writes nothing"},
		{"quality-format", "Prettier", RiskMedium, `npx prettier --write "**/*.{ts,tsx,js,jsx,json,css,md}"`, "Formats sources in place"},
		{"quality-format-check", "Prettier check", RiskLow, `npx prettier --check "**/*.{ts,tsx,js,jsx,json,css,md}"`, "Lists files that are not formatted"},
		{"quality-unused-deps", "Unused dependencies", RiskLow, "npx depcheck", "Lists dependencies that nothing imports"},
		{"quality-bundle-analyze", "Bundle size", RiskLow, `npx source-map-explorer "<directory>/**/*.js"`, "Shows what a bundle is made of"},
		{"quality-vitest-coverage", "Vitest coverage", RiskMedium, "npx vitest run --coverage", "Runs Vitest and measures coverage"},
		{"quality-eslint-cache", "ESLint with cache", RiskMedium, "npx eslint . --cache", "Checks only files that have changed"},
		{"quality-biome-check", "Biome", RiskLow, "npx biome check .", "Lints and checks formatting"},
		{"quality-oxlint", "Oxlint", RiskLow, "npx oxlint .", "Lints, fast"},
		{"quality-knip", "Knip", RiskLow, "npx knip", "Finds files, exports and dependencies that nothing uses"},
	}
}

func kubernetesRows() []row {
	return []row{
		{"k8s-get-pods", "Pods", RiskLow, "kubectl get pods", "Lists pods of the namespace"},
		{"k8s-get-all", "Everything", RiskLow, "kubectl get all -A", "Lists what runs in every namespace"},
		{"k8s-describe-pod", "Describe a pod", RiskLow, "kubectl describe pod <pod>", "Shows state and events of a pod"},
		{"k8s-logs", "Logs of a pod", RiskLow, "kubectl logs -f <pod>", "Follows a pod's output until it is stopped"},
		{"k8s-exec", "Run in a pod", RiskMedium, "kubectl exec <pod> -- <command>", "Runs a command in a pod"},
		{"k8s-apply", "Apply", RiskMedium, "kubectl apply -f <file>", "Makes the cluster what a file says"},
		{"k8s-delete-pod", "Delete a pod", RiskHigh, "kubectl delete pod <pod>", "Deletes a pod; its controller may start another"},
		{"k8s-port-forward", "Forward a port", RiskMedium, "kubectl port-forward <pod> 8080:80", "Opens port 80 of a pod as 8080 here, until it is stopped"},
		{"k8s-get-contexts", "Contexts", RiskLow, "kubectl config get-contexts", "Lists clusters that are set up"},
		{"k8s-use-context", "Use a context", RiskMedium, "kubectl config use-context <context>", "Every later kubectl talks to that cluster"},
	}
}

func databaseRows() []row {
	return []row{
		{"db-pg-connect", "PostgreSQL query", RiskMedium, `psql -h localhost -U <user> -d <database> -c "<query>"`, "Runs SQL in a local PostgreSQL"},
		{"db-pg-dump", "PostgreSQL dump", RiskMedium, "pg_dump -h localhost -U <user> <database> > <database>.sql", "Writes a database to a file"},
		{"db-pg-restore", "PostgreSQL restore", RiskMedium, "psql -h localhost -U <user> -d <database> -f <file>.sql", "Runs a dump: tables may be replaced"},
		{"db-mysql-connect", "MySQL query", RiskMedium, `mysql -h localhost -u <user> <database> -e "<query>"`, "Runs SQL in a local MySQL"},
		{"db-mysql-dump", "MySQL dump", RiskMedium, "mysqldump -h localhost -u <user> <database> > <database>.sql", "Writes a database to a file"},
		{"db-mongo-connect", "MongoDB expression", RiskMedium, `mongosh "mongodb://localhost:27017/<database>" --eval "<expression>"`, "Runs an expression in a local MongoDB"},
		{"db-mongo-export", "MongoDB export", RiskMedium, "mongoexport --db=<database> --collection=<collection> --out=<collection>.json", "Writes a collection to a file"},
		{"db-redis-cli", "Redis command", RiskMedium, "redis-cli <command>", "Runs a command in a local Redis"},
		{"db-redis-flush", "Empty Redis", RiskHigh, "redis-cli FLUSHALL", "Deletes every key of every database, for good"},
		{"db-sqlite-query", "SQLite query", RiskMedium, `sqlite3 <file>.db "<query>"`, "Runs SQL on a file"},
	}
}

func cloudRows() []row {
	return []row{
		{"cloud-aws-s3-ls", "S3 list", RiskLow, "aws s3 ls s3://<bucket>", "Lists a bucket"},
		{"cloud-aws-s3-sync", "S3 sync", RiskMedium, "aws s3 sync <directory> s3://<bucket>", "Uploads what has changed"},
		{"cloud-aws-s3-cp", "S3 copy", RiskMedium, "aws s3 cp <file> s3://<bucket>/", "Uploads one file"},
		{"cloud-aws-ecr-login", "ECR login", RiskMedium, "aws ecr get-login-password --region <region> | docker login --username AWS --password-stdin <account-id>.dkr.ecr.<region>.amazonaws.com", "Logs docker in to a registry"},
		{"cloud-aws-lambda-invoke", "Lambda call", RiskMedium, "aws lambda invoke --function-name <function> response.json", "Calls a function and keeps its answer"},
		{"cloud-gcp-auth", "Google login", RiskMedium, "gcloud auth login", "Logs in through the browser"},
		{"cloud-gcp-project", "Google project", RiskMedium, "gcloud config set project <project-id>", "Every later gcloud works on that project"},
		{"cloud-gcp-run-deploy", "Cloud Run deploy", RiskMedium, "gcloud run deploy <service> --source . --region <region>", "Builds this directory and puts it into service"},
		{"cloud-azure-login", "Azure login", RiskMedium, "az login", "Logs in through the browser"},
		{"cloud-azure-resources", "Azure resources", RiskLow, "az resource list --output table", "Lists what there is"},
	}
}

func aiRows() []row {
	return []row{
		{"ai-codex-analysis", "Codex: review the code", RiskMedium, `codex exec "Read this project and report its structure and its weak points. Change nothing."`, "Asks Codex what it thinks of the code"},
		{"ai-codex-debug", "Codex: find a bug", RiskMedium, `codex exec "Find the cause of this and propose a fix: <problem>"`, "Asks Codex about a problem"},
		{"ai-claude-brainstorm", "Claude: collect ideas", RiskMedium, `claude -p "Collect ideas with their costs and benefits: <topic>"`, "Asks Claude for ideas"},
		{"ai-claude-release-notes", "Claude: release notes", RiskMedium, `git log --oneline <tag>..HEAD | claude -p "Write release notes for users out of these commits"`, "Writes notes from the commits since a tag"},
		{"ai-gemini-plan", "Gemini: plan a change", RiskMedium, `gemini -p "Plan this change step by step, naming the files: <change>"`, "Asks Gemini for a plan"},
		{"ai-gemini-summary", "Gemini: sum up the project", RiskMedium, `gemini -p "Sum up what this project does and how it is built"`, "Asks Gemini for a summary"},
	}
}

func securityRows() []row {
	return []row{
		{"sec-npm-audit", "npm audit", RiskLow, "npm audit --audit-level=high", "Fails when a dependency has a serious advisory"},
		{"sec-trivy-image", "Trivy: image", RiskLow, "trivy image <image>:<tag>", "Looks for known vulnerabilities in an image"},
		{"sec-trivy-fs", "Trivy: files", RiskLow, "trivy fs .", "Looks for known vulnerabilities in this directory"},
		{"sec-owasp-check", "OWASP dependency check", RiskMedium, "dependency-check --project <name> --scan .", "Reports vulnerable dependencies"},
		{"sec-snyk-test", "Snyk", RiskMedium, "npx snyk test", "Asks Snyk about the dependencies"},
		{"sec-gitleaks", "Gitleaks", RiskLow, "gitleaks detect --source . --verbose", "Looks for secrets in the history"},
		{"sec-trufflehog", "TruffleHog", RiskMedium, "trufflehog git file://. --only-verified", "Looks for secrets that still work"},
		{"sec-semgrep", "Semgrep", RiskLow, "semgrep --config auto .", "Looks for dangerous code"},
		{"sec-ssl-check", "Certificate of a host", RiskLow, "openssl s_client -connect <host>:443 -servername <host>", "Shows the certificate a server presents"},
		{"sec-ssl-gen", "Make a certificate", RiskMedium, "openssl req -x509 -newkey rsa:4096 -nodes -keyout key.pem -out cert.pem -days 365 -subj /CN=localhost", "A self-signed certificate for development"},
	}
}

func nodeJSRows() []row {
	return []row{
		{"node-version", "Versions", RiskLow, "node --version && npm --version", "Shows what is installed"},
		{"node-nvm-install", "Install the project's Node", RiskMedium, `. "${NVM_DIR:-$HOME/.nvm}/nvm.sh" && nvm install`, "Installs the version of .nvmrc; nvm is a shell function, so it is loaded first"},
		{"node-clinic", "Clinic doctor", RiskMedium, "npx clinic doctor -- node <file>", "Measures why a program is slow"},
		{"node-0x", "Flame graph", RiskMedium, "npx 0x <file>", "Draws where a program spends its time"},
		{"node-webpack-analyze", "Webpack bundle", RiskMedium, "npx webpack-bundle-analyzer <stats-file>", "Shows what a bundle is made of"},
		{"node-vite-analyze", "Vite bundle", RiskMedium, "npx vite-bundle-visualizer", "Shows what a bundle is made of"},
		{"node-clear-cache", "Clear npm's cache", RiskMedium, "npm cache clean --force", "Everything is downloaded again"},
	}
}
