/** What a command prints, in the folder it starts in or another; null where it fails or is not there. */
export function outputOf(command: readonly string[], cwd = process.cwd()): string | null {
  const [program = "", ...words] = command;
  if (Bun.which(program) === null) return null;
  const { exitCode, stdout } = Bun.spawnSync([program, ...words], { cwd, stderr: "ignore" });
  return exitCode === 0 ? stdout.toString().trim() : null;
}
