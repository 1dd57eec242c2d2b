import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const KEY = "meterhouse.theme";

const isTheme = (text: string | null): text is Theme => THEMES.some((theme) => theme === text);

function kept(): Theme {
  const text = localStorage.getItem(KEY);
  return isTheme(text) ? text : "system";
}

export const THEME_NAMES = { system: "Colours of the system", light: "Light colours", dark: "Dark colours" };

export function setTheme(name: Theme): void {
  theme.value = name;
}

/** Light, dark, or as the system has it; kept by this browser. */
export const theme = signal<Theme>(kept());

effect(() => {
  localStorage.setItem(KEY, theme.value);
  document.documentElement.style.colorScheme = theme.value === "system" ? "light dark" : theme.value;
});
