/** Hard limits of the MCP endpoint. */
export const LIMITS = {
  /** The longest result of a tool that reads: about 8,000 tokens of a model's context. */
  mcp_answer_characters: 32_000,
  /** The longest error text of a tool. */
  mcp_refusal_characters: 16_000,
  /** How long a person has to confirm what a tool would do. */
  mcp_confirm_minutes: 15,
} as const;
