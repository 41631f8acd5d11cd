import{j as t,m as e,u as o}from"./chunk-QJUIWON7.js";import"./chunk-OOJM4CTU.js";function i(r){return o("Settings"),t(e,{icon:"settings",title:"Settings"})}export{i as default};
