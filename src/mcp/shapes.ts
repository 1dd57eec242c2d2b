import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { call, type Operation } from "../app/operation.ts";
import { decode } from "../core/validate.ts";
import { data, dataOf } from "../http/responses.ts";

// The shapes of most tools. Spread into a tool's definition, a shape gives its operations, output and run.

/** The output of an operation that lists records. */
type List = TObject & { properties: { data: { items: TObject }; meta: TSchema } };

/** Returns a page of a list, or the one record that `id_field` names, with the fields of its detail. */
export function finder<K extends string, I extends TObject>(
  id_field: K,
  list: Operation<I, List>,
  get: Operation<TObject, TObject>,
) {
  const { data: items, meta } = list.output.properties;
  const record: TProperties = { ...items.items.properties };
  for (const [name, field] of Object.entries(get.output.properties)) record[name] ??= Type.Optional(field);
  const output: TObject = Type.Object({ data: Type.Array(Type.Object(record)), meta: Type.Optional(meta) });
  return {
    finds: [id_field],
    operations: [list, get],
    output,
    async run(ctx: Context, input: { [F in K]?: number } & Static<I>) {
      const { [id_field]: id, ...filter } = input;
      if (id !== undefined) return { data: [await call(ctx, get, { id })] };
      return call(ctx, list, { page: 1, ...filter });
    },
  };
}

/** Creates a record, or updates the one that `id_field` names. */
export function saver(
  id_field: string,
  create: Operation<TObject, TObject>,
  update: Operation<TObject, TObject>,
) {
  const body = Type.Omit(update.input, ["id"]);
  return {
    operations: [create, update],
    output: dataOf(create.output),
    run(ctx: Context, { [id_field]: id, ...input }: Record<string, unknown>) {
      if (id === undefined) return data(call(ctx, create, decode(create.input, input)));
      return data(call(ctx, update, { id, ...decode(body, input) }));
    },
  };
}

/** Runs one operation, on the record that `id_field` names if it is given. */
export function action<I extends TObject, O extends TSchema, K extends string = never>(
  operation: Operation<I, O>,
  id_field?: K,
) {
  return {
    operations: [operation],
    output: dataOf(operation.output),
    run(ctx: Context, input: { [F in K]: number } & Omit<Static<I>, "id">) {
      if (id_field === undefined) return data(call(ctx, operation, input));
      const { [id_field]: id, ...fields } = input;
      return data(call(ctx, operation, { id, ...fields }));
    },
  };
}
