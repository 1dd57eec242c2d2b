/** A question that people ask often, as a text that a client puts before the model. */
export interface Prompt {
  name: string;
  title: string;
  description: string;
  /** The tools that its text sends the model to: a user who does not see all of them does not see it. */
  tools: readonly string[];
  arguments: readonly PromptArgument[];
  /** Its text; a value for each argument, empty for one that was left out. */
  text: (values: Readonly<Record<string, string>>) => string;
}

interface PromptArgument {
  name: string;
  description: string;
  required: boolean;
}

/** The longest value of an argument. */
export const ARGUMENT_LENGTH = 200;
