/** The exit codes of the command line, as shells and systemd read them. Decision 0189. */
export const EXIT = {
  done: 0,
  /** The work failed; the same command may succeed later. */
  failed: 1,
  /** The words of the command line were wrong; nothing was done. */
  wrong_words: 2,
  /** sysexits' EX_CONFIG: a restart will not help, somebody must mend something first. */
  restart_is_no_help: 78,
} as const;

/** An error that ends the program with an exit code of its own; its message is printed as it is. */
export class ExitError extends Error {
  readonly exit_code: number;

  constructor(exit_code: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ExitError";
    this.exit_code = exit_code;
  }
}

/** Wrong words on the command line: exit 2. */
export function wrongWords(message: string, cause?: unknown): ExitError {
  return new ExitError(EXIT.wrong_words, message, cause);
}

/** What no restart mends, such as a configuration that can't be used or a damaged file: exit 78. */
export function unmendable(message: string, cause?: unknown): ExitError {
  return new ExitError(EXIT.restart_is_no_help, message, cause);
}

/** The exit code of what ended a command: of the error, or of one that caused it; 1 for any other. */
export function exitCodeOf(error: unknown): number {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ExitError) return cause.exit_code;
  }
  return EXIT.failed;
}
