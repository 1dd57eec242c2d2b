import { wrongWords } from "../core/exit_codes.ts";
import type { Command } from "./command.ts";

/** What a shell offers for one command. */
interface Offer {
  name: string;
  summary: string;
  /** The words after it, then its options with their dashes. */
  words: string[];
}

/** Shell completion, made from the list of commands itself. */
export function completion(loadAll: () => Promise<Command[]>): Command {
  return {
    name: "completion",
    summary: "Print what completes this command line in bash, zsh or fish",
    help: `Usage: bun src/main.ts completion bash | zsh | fish

  bash  add \`source <(meterhouse completion bash)\` to ~/.bashrc
  zsh   add \`source <(meterhouse completion zsh)\` to ~/.zshrc, after compinit
  fish  meterhouse completion fish > ~/.config/fish/completions/meterhouse.fish`,
    operands: 1,
    choices: Object.keys(SCRIPTS),
    options: {},
    async run({ positionals: [shell = ""] }) {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (!script) throw wrongWords(`Say which shell: ${Object.keys(SCRIPTS).join(", ")}`);
      console.log(script((await loadAll()).map(offerOf)));
    },
  };
}

function offerOf({ name, summary, choices = [], options, remote }: Command): Offer {
  const names = [...Object.keys(options), "config", ...(remote ? ["server"] : []), "help"];
  return { name, summary, words: [...choices, ...names.map((option) => `--${option}`)] };
}

const GLOBAL = ["--help", "--version"];

const SCRIPTS: Readonly<Record<string, (offers: Offer[]) => string>> = {
  bash: (offers) => `_meterhouse() {
  local words
  if (( COMP_CWORD == 1 )); then
    words="${[...offers.map(({ name }) => name), ...GLOBAL].join(" ")}"
  else
    case "\${COMP_WORDS[1]}" in
${offers.map(({ name, words }) => `      ${name}) words="${words.join(" ")}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _meterhouse meterhouse`,

  zsh: (offers) => `#compdef meterhouse
_meterhouse() {
  local -a offers
  if (( CURRENT == 2 )); then
    offers=(${offers.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(" ")} ${GLOBAL.join(" ")})
    _describe command offers
    return
  fi
  case "\${words[2]}" in
${offers.map(({ name, words }) => `    ${name}) offers=(${words.join(" ")}) ;;`).join("\n")}
  esac
  compadd -- $offers
  _files
}
compdef _meterhouse meterhouse`,

  fish: (offers) =>
    [
      ...GLOBAL.map((option) => `complete -c meterhouse -n __fish_use_subcommand -l ${option.slice(2)}`),
      ...offers.flatMap(({ name, summary, words }) => [
        `complete -c meterhouse -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
        ...words.map((word) => {
          const kind = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
          return `complete -c meterhouse -n '__fish_seen_subcommand_from ${name}' ${kind}`;
        }),
      ]),
    ].join("\n"),
};

function quoted(text: string): string {
  return `'${text.replaceAll("'", "")}'`;
}
