/** Hard limits of the MCP endpoint. */
export const LIMITS = {
  /** The longest result of a tool that reads: about 16,000 tokens of a model's context. */
  mcp_answer_characters: 64_000,
  /** The longest error text of a tool. */
  mcp_refusal_characters: 16_000,
} as const;
