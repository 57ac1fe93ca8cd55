import './style.css';
import { render } from 'preact';
import { followLinks } from './data/place.ts';
import { Frame } from './shell/frame.tsx';

followLinks();
render(<Frame />, document.getElementById('console')!);
