import type { Permission } from "../../core/access.ts";
import { may } from "../app/session.ts";
import { Button } from "./button.tsx";
import { type QueryState, useNew } from "./query.ts";

/**
 * A list's new record, for those who may make one: the page's button, the one of an empty list, and whether the dialog
 * is open.
 */
export function useCreation(query: QueryState, title: string, permission: Permission) {
  const { is_open, open, close } = useNew(query);
  const is_allowed = may(permission);
  return {
    is_open: is_open && is_allowed,
    close,
    button: is_allowed && (
      <Button kind="primary" icon="plus" data-new onClick={open}>
        {title}
      </Button>
    ),
    first: is_allowed && <Button onClick={open}>{title}</Button>,
  };
}
