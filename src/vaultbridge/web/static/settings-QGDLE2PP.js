import{k as t,n as e,v as o}from"./chunk-YUKKNVBY.js";import"./chunk-OOJM4CTU.js";function i(r){return o("Settings"),t(e,{icon:"settings",title:"Settings"})}export{i as default};
