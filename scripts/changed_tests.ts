import { dirname } from "node:path";

/** The test files beside what differs from main: those of the same folder under test/, or of the nearest above. */
export function testsOfChanges(): string[] {
  return [...new Set(changedFiles().flatMap(testsBeside))].toSorted();
}

/** Files that differ from where this branch left main; on main itself, from the last commit. */
function changedFiles(): string[] {
  const base = git("merge-base", "HEAD", "main") ?? "HEAD";
  const changed = git("diff", "--name-only", "--diff-filter=d", base) ?? "";
  const added = git("ls-files", "--others", "--exclude-standard") ?? "";
  return `${changed}\n${added}`.split("\n").filter((path) => /^(src|test)\/.*\.ts$/.test(path));
}

function git(...words: string[]): string | undefined {
  const { exitCode, stdout } = Bun.spawnSync(["git", ...words]);
  return exitCode === 0 ? stdout.toString().trim() : undefined;
}

function testsBeside(file: string): string[] {
  if (file.endsWith(".test.ts")) return [file];
  for (let folder = dirname(file).replace(/^src/, "test"); folder.includes("/"); folder = dirname(folder)) {
    const tests = [...new Bun.Glob(`${folder}/*.test.ts`).scanSync()];
    if (tests.length > 0) return tests;
  }
  return [];
}
