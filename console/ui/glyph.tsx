/** Drawn, since not every font has them. The button around it says in words what it does. */
const shapes = {
  up: 'M8 3l5 6h-3.5v4h-3V9H3z',
  down: 'M8 13l5-6H9.5V3h-3v4H3z',
  cross: 'M4.2 2.8L8 6.6l3.8-3.8l1.4 1.4L9.4 8l3.8 3.8l-1.4 1.4L8 9.4l-3.8 3.8l-1.4-1.4L6.6 8L2.8 4.2z',
} as const;

export const Glyph = ({ of }: { of: keyof typeof shapes }) => (
  <svg class="sign" viewBox="0 0 16 16" aria-hidden="true">
    <path d={shapes[of]} />
  </svg>
);
