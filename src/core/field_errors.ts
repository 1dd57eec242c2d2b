import { AppError, type ErrorDetail, fieldName } from "./errors.ts";
import { type Decimal, readDecimal } from "./money.ts";

/** The broken rules of an input, so that one answer names all of them. */
export class FieldErrors {
  readonly details: ErrorDetail[] = [];

  add(...details: readonly ErrorDetail[]): void {
    this.details.push(...details);
  }

  /** Reads a decimal; one that can't be read is 0 from here on. */
  decimal(value: string | number, path: string, kind?: "price"): Decimal {
    try {
      return readDecimal(value, path, kind);
    } catch (error) {
      if (!(error instanceof AppError) || !error.details) throw error;
      this.add(...error.details);
      return "0";
    }
  }

  /** Errors: invalid, naming every broken rule. */
  refuse(): void {
    if (this.details.length === 0) return;
    const [first, ...more] = this.details.map(({ path, message }) => `${fieldName(path)} ${message}`);
    const message = more.length === 0 ? `${first}` : `${first}; and ${more.length} more`;
    throw new AppError("invalid", message, { details: this.details });
  }
}
