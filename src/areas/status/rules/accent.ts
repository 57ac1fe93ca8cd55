// A team's colour, adjusted for text: WCAG 2.2 requires a contrast of 4.5 with the background.

export interface Accent {
  /** Colour of text, links and button backgrounds in the light and dark scheme. */
  light: string;
  dark: string;
}

type Rgb = readonly [number, number, number];

/** Page backgrounds. */
export const grounds = { light: '#ffffff', dark: '#0d1117' } as const;
/** Card backgrounds, which are harder to contrast with. */
export const cards = { light: '#f6f8fa', dark: '#161b22' } as const;
const minContrast = 4.6; // slightly above the requirement, because browsers round

const read = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
const write = (rgb: Rgb): string => `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, '0')).join('')}`;

const luminance = (rgb: Rgb): number => {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

/** WCAG 2.2: (L1 + 0.05) / (L2 + 0.05), the lighter one above. */
export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(read(one)), luminance(read(other))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** The closest readable colour, in steps towards black or white. */
function readable(hex: string, behind: readonly string[], towards: 0 | 255): string {
  const colour = read(hex);
  for (let share = 0; share < 1; share += 0.02) {
    const tried = write(colour.map((c) => c + (towards - c) * share) as unknown as Rgb);
    if (behind.every((ground) => contrast(tried, ground) >= minContrast)) return tried;
  }
  return write([towards, towards, towards]);
}

export const accentOf = (hex: string): Accent => ({
  light: readable(hex, [grounds.light, cards.light], 0),
  dark: readable(hex, [grounds.dark, cards.dark], 255),
});
