import { isVisible, type ListedTool, type Tool, type ToolInSet, type Viewer } from "./tool.ts";

/** The service's tools, filtered by viewer. */
export class ToolSet {
  readonly #tools: readonly ToolInSet[];
  readonly #by_name: ReadonlyMap<string, ToolInSet>;

  constructor(tools: readonly ToolInSet[]) {
    this.#tools = tools;
    this.#by_name = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** The entries of tools/list. Sentences that send the viewer to a tool that it does not see are left out. */
  listFor(viewer: Viewer): ListedTool[] {
    const visible = this.#visibleTo(viewer);
    const names = new Set(visible.map(({ name }) => name));
    const isHidden = (word: string) => this.#by_name.has(word) && !names.has(word);
    return visible.map(({ listed }) => {
      const sentences = listed.description.split(/(?<=\.) /);
      const shown = sentences.filter((sentence) => !sentence.match(/\b[a-z]+_[a-z_]+/g)?.some(isHidden));
      return shown.length === sentences.length ? listed : { ...listed, description: shown.join(" ") };
    });
  }

  /** The tool of this name, if the viewer sees it: a hidden tool is reported as unknown. */
  find(viewer: Viewer, name: string): ToolInSet | undefined {
    const found = this.#by_name.get(name);
    return found && isVisible(viewer, found) ? found : undefined;
  }

  /** The tool that finds valid values of a parameter, if the viewer sees it: one of the same kind first. */
  finderOf(viewer: Viewer, parameter: string, asker: Tool): ToolInSet | undefined {
    const finders = this.#visibleTo(viewer).filter(({ finds }) => finds.includes(parameter));
    const [kind = ""] = asker.name.split("_");
    return finders.find(({ name }) => name.startsWith(`${kind}_`)) ?? finders[0];
  }

  #visibleTo(viewer: Viewer): ToolInSet[] {
    return this.#tools.filter((tool) => isVisible(viewer, tool));
  }
}
