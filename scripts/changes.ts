import { dirname } from "node:path";

/** TypeScript files that differ from where this branch left another. */
export function changedFiles(branch: string): string[] {
  const base = git("merge-base", "HEAD", branch) ?? "HEAD";
  const changed = git("diff", "--name-only", "--diff-filter=d", base) ?? "";
  const added = git("ls-files", "--others", "--exclude-standard") ?? "";
  return `${changed}\n${added}`.split("\n").filter((path) => path.endsWith(".ts"));
}

function git(...words: string[]): string | undefined {
  const { exitCode, stdout } = Bun.spawnSync(["git", ...words]);
  return exitCode === 0 ? stdout.toString().trim() : undefined;
}

/** The test files of the same folders under test/, or of the nearest above. */
export function testsBeside(files: string[]): string[] {
  return [...new Set(files.filter((file) => /^(src|test)\//.test(file)).flatMap(beside))].toSorted();
}

function beside(file: string): string[] {
  if (file.endsWith(".test.ts")) return [file];
  for (let folder = dirname(file).replace(/^src/, "test"); folder.includes("/"); folder = dirname(folder)) {
    const tests = [...new Bun.Glob(`${folder}/*.test.ts`).scanSync()];
    if (tests.length > 0) return tests;
  }
  return [];
}
