// Pages of docs/ that are pasted block by block into a shell, as their readers do.

/** A block of commands, and what the page shows that it prints; null where it shows nothing. */
export interface Block {
  readonly commands: string;
  readonly shown: string | null;
}

/** The blocks of commands of a page, from top to bottom. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs)].map(
    ([, commands = "", shown = null]) => ({ commands, shown }),
  );
}

/** What a page shows, where instants, secrets, digests, durations and rows of the service itself are another time's. */
export function patternOf(shown: string): RegExp {
  const exact = shown.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const pattern = exact
    .replaceAll(
      /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g,
      String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`,
    )
    .replaceAll(/20(?!23)\d\d-\d\d-\d\d/g, String.raw`\d{4}-\d\d-\d\d`)
    .replaceAll(/\b1[6-9]\d{11}\b/g, String.raw`\d{13}`)
    .replaceAll(/\b[0-9a-f]{64}\b/g, "[0-9a-f]{64}")
    .replaceAll(/seed \d+/g, String.raw`seed \d+`)
    .replaceAll(/\d+ rows/g, String.raw`\d+ rows`)
    .replaceAll(/longest \d\\\.\d+/g, String.raw`longest \d\.\d+`)
    .replaceAll(/in \d+\\\.\d s/g, String.raw`in [\d.]+ s`);
  return new RegExp(`^${pattern.replaceAll("…", ".+")}$`);
}

/** A shell that commands are pasted into, one after the other. */
export interface Terminal {
  /** Pastes commands, and returns what they print. */
  paste(commands: string): Promise<string>;
  /** Ends the shell; returns what it wrote to standard error. */
  end(): Promise<string>;
  kill(): void;
}

export function openTerminal(shell: string, cwd: string, env: Record<string, string | undefined>): Terminal {
  const child = Bun.spawn([shell, shell.endsWith("zsh") ? "-f" : "--norc"], {
    cwd,
    env: { ...env, TERM: "dumb" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const lines = child.stdout.getReader();
  const decoder = new TextDecoder();
  let printed = "";
  return {
    async paste(commands) {
      void child.stdin.write(`${commands}\nprintf '\\n:over\\n'\n`);
      void child.stdin.flush();
      while (!printed.endsWith("\n:over\n")) {
        const { value, done } = await lines.read();
        if (done) throw new Error(`${shell} ended: ${await child.stderr.text()}`);
        printed += decoder.decode(value, { stream: true });
      }
      const shown = printed.slice(0, -":over\n".length).trim();
      printed = "";
      return shown;
    },
    async end() {
      void child.stdin.end();
      return child.stderr.text();
    },
    kill: () => child.kill(),
  };
}
