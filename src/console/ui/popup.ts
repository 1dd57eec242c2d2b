import type { RefObject } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";

/** The room between what is shown and the window's edge. */
const EDGE_PX = 8;

/** Shows an element above everything (Popover API), under what it belongs to, or over it where there is more room. */
export function usePopup(
  is_open: boolean,
  anchor: RefObject<HTMLElement | null>,
  popup: RefObject<HTMLElement | null>,
  { is_as_wide = false, side = "left" }: { is_as_wide?: boolean; side?: "left" | "right" } = {},
): void {
  useLayoutEffect(() => {
    if (is_open) popup.current?.showPopover();
    else if (popup.current?.matches(":popover-open")) popup.current.hidePopover();
  }, [is_open]);
  useEffect(() => {
    if (!is_open) return undefined;
    const place = () => {
      if (anchor.current && popup.current) placeAt(anchor.current, popup.current, is_as_wide, side);
    };
    place();
    addEventListener("scroll", place, true);
    addEventListener("resize", place);
    return () => {
      removeEventListener("scroll", place, true);
      removeEventListener("resize", place);
    };
  });
}

function placeAt(anchor: HTMLElement, popup: HTMLElement, is_as_wide: boolean, side: "left" | "right"): void {
  const at = anchor.getBoundingClientRect();
  const { style } = popup;
  if (is_as_wide) style.width = `${at.width}px`;
  const below = innerHeight - at.bottom - EDGE_PX;
  const goes_up = popup.scrollHeight > below && at.top > below;
  style.maxHeight = `${Math.max(96, (goes_up ? at.top : below) - EDGE_PX)}px`;
  const { offsetWidth: width, offsetHeight: height } = popup;
  const left = side === "left" ? at.left : at.right - width;
  style.left = `${Math.max(EDGE_PX, Math.min(left, innerWidth - width - EDGE_PX))}px`;
  style.top = `${goes_up ? at.top - height - 4 : at.bottom + 4}px`;
}
