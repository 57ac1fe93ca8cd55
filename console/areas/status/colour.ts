// The colour of a team as the page uses it: text must have a contrast of 4.5 (WCAG 2.2), so the page makes it darker or lighter there. Pure.

type Rgb = readonly [number, number, number];

const grounds = { light: ['#ffffff', '#f6f8fa'], dark: ['#0d1117', '#161b22'] } as const;
const minContrast = 4.6;
const step = 0.02;

export const isColour = (text: string): boolean => /^#[0-9a-f]{6}$/i.test(text);

const read = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
const write = (rgb: readonly number[]): string => `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

function luminance(hex: string): number {
  const [r, g, b] = read(hex).map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  ) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** What the page writes text in, in each scheme. */
export function textColours(hex: string): { light: string; dark: string } {
  const readable = (behind: readonly string[], towards: number) => {
    for (let share = 0; share < 1; share += step) {
      const tried = write(read(hex).map((part) => part + (towards - part) * share));
      if (behind.every((ground) => contrast(tried, ground) >= minContrast)) return tried;
    }
    return write([towards, towards, towards]);
  };
  return { light: readable(grounds.light, 0), dark: readable(grounds.dark, 255) };
}

/** What a person should know of a colour before it is public. */
export function contrastWords(hex: string): string {
  const { light, dark } = textColours(hex);
  const on = (ground: string) => `${contrast(hex, ground).toFixed(1)} : 1`;
  const changed = [
    light !== hex.toLowerCase() && `on light pages text is ${light}`,
    dark !== hex.toLowerCase() && `on dark pages text is ${dark}`,
  ].filter(Boolean);
  const measured = `Contrast ${on(grounds.light[0])} on white, ${on(grounds.dark[0])} on dark.`;
  return changed.length ? `${measured} Too little for text, so ${changed.join(', and ')}.` : `${measured} Enough for text on both.`;
}
